"""Dialogue of the programmatic teacher: a plan as user turns, tool calls and the assistant's texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from mcp_servers.catalogue import TOOLS
from mcp_servers.core.phrases import Situation, load_scenarios, slots
from mcp_servers.world import World

from ..core.trajectory import Act, ToolCall
from ..dataflow.provenance import is_date
from ..dataflow.speech import capitalize_text, content_words, is_instant, phrases_for, phrases_of
from ..dataflow.templates import PERSONAS, fill_template, long_day
from ..graph.sampler import NothingFits, contexts
from .comparisons import choose_winner, verdict
from .corrections import correct
from .goals import Planner
from .plan import Plan, PlannedCall, Referent, Wish, invalidates_reports, takes_back
from .recovery import taken_over
from .referents import NAMED, OPAQUE, word
from .replies import (
    PLAIN,
    READ_OPENINGS,
    WRITE_OPENINGS,
    closing_text,
    convert_to_second_person,
    decline,
    describe_unmet_condition,
    report,
)
from .state_machine import USER_TURNS, Lesson, Move, Talk

OPTIONAL = 0.25  # share of optional parts of a request that are said
STRAY = 0.2  # share of conversations that may have a second goal
POINTED = 0.6  # share of entities just mentioned that are pointed at: "that card"
IMPOSSIBLE = 0.25  # share of failures that are wishes which have become impossible; the others are slips
FEWEST_TO_FAIL = 3  # with fewer calls, one failure exceeds the share of errors that validation allows
SITUATIONS = 0.85  # share of conversations that begin with the user's reason
SITUATIONS_LATER = 0.45  # share of later turns that do
REASON = re.compile(r", (?:so|and I|but)\b|\b(?:because|since I|now that|in case)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.;?!] ")
ACKNOWLEDGED = 0.25  # share of later turns that begin by acknowledging the answer before
BARE = 0.45  # share of requests that follow one another without a joint
VAGUE_ENTITIES = ("one of the {1}", "{0}")
OPEN_ENTITIES = 0.8  # share of open values that are entities ("an account"), where there are some
CANNOT = "That cannot be done:"
SMALL_WORD = re.compile(r"^(?:You|Your|The|This|That|It|There|No|A|An)\b")
ADVICE = re.compile(r"; .*", re.DOTALL)  # a refusal's advice to the caller
RAW_VALUE = re.compile(rf"\b(?:{OPAQUE.pattern}|\d{{4}}-\d\d-\d\d\S*|[a-z]+_[a-z_]+)\b")
TWICE = re.compile(r"\b(yet|now|the|of|in|on|to)(?: \1\b)+")
ON = re.compile(r"\b(?:on|at) (?=(?:today|tomorrow)\b)")
JOINTS = (
    "Then {}.", "After that, {}.", "Also, {}.", "Next, {}.", "And {}.", "Once that is done, {}.",
    "While you're at it, {}.", "Besides, {}.", "On top of that, {}.", "And another thing: {}.", "Afterwards {}.",
    "Oh, and {}.", "In addition, {}.",
)  # fmt: skip
OPENING_REQUESTS = (
    "First of all, {}.", "One thing for you: {}.", "For a start, {}.", "To begin with, {}.", "Here is what I need: {}.",
    "Hello! Could you {}?", "Hi, please {}.", "Good morning. Would you {}?", "Hey, can you {}?", "Something small: {}.",
)  # fmt: skip
REQUESTS = (
    "{}.", "Please {}.", "Could you {}?", "Can you {}?", "I'd like you to {}.", "Would you {}?", "I need you to {}.",
    "{}, please.", "Could you please {}?", "Go ahead and {}.", "I'd be glad if you could {}.", "If you can, {}.",
    "Mind if I ask you to {}?", "Any chance you could {}?", "Kindly {}.", "Be so good as to {}.", "When you can, {}.",
    "Would it be possible to {}?", "It would help me if you could {}.", "If you have a moment, {}.", "Will you {}?",
    "I want you to {}.", "Would you please {}?", "I'd appreciate it if you could {}.",
)  # fmt: skip
CONDITIONS = (
    ", but only if {}", ", provided {}", ", as long as {}", " if {}", ", though only if {}", ", if {}",
)  # fmt: skip
CONDITION_SENTENCES = (
    " Only do that if {}.", " That goes only as long as {}.", " Only if {}, though.",
    " But check first whether {}; if not, drop it.", " But do it only if {}.",
)  # fmt: skip
VAGUE_QUESTIONS = {
    "money": ("How much should it be?", "What amount do you have in mind?", "Which amount exactly?"),
    "day": ("Which day should it be?", "For which day?", "What date do you have in mind?"),
    "time": ("Which day and time should it be?", "When exactly?", "What day and time do you have in mind?"),
    "entity": ("Which {noun} do you mean?", "Which {noun} exactly?", "Could you tell me which {noun} you mean?"),
}


@dataclass(frozen=True)
class OpenValue:
    """A value that the user leaves out at first: its wish and slot, the vague words instead, and the question."""

    wish: int
    slot: str
    vague: str
    question: str


@dataclass
class ScriptedTurn:
    """A user turn and the assistant's moves in response, up to a text."""

    words: str
    moves: list[Move] = field(default_factory=list)
    declines: bool = False


class Dialogue:
    """A teacher without a language model: it plans with `Planner` and words the plan with templates."""

    def __init__(self, lesson: Lesson):
        """Plan in forks of the world. Raises NothingFits or StepRefused."""
        self.task, self.draw, self.manner = lesson.task, lesson.draw, lesson.manner
        self.knobs, self.persona = lesson.knobs, PERSONAS[lesson.task.persona or "plain"]
        self.day = f"{lesson.world.now:%Y-%m-%d}"
        self.today = self.day if self.manner.chance(self.knobs.dates) else ""
        servers = sorted(lesson.servers)
        known = {name: contexts(lesson.world, [name], 0) for name in servers}
        optional = 0.0 if lesson.task.level == "minimal" else OPTIONAL
        planner = Planner(lesson.world.fork(), lesson.graph, known, self.draw, self.today, optional)
        self.hidden = -1 if lesson.task.abstains else None  # the position of a wish that no offered tool may serve
        self.situations: list[str] = []  # that were said
        self.requested: list[Wish] = []  # what the user has asked for so far
        self.plan = self.draw_plan(planner)
        self.features = set(self.plan.features)
        self.turns = self.abstention() if lesson.task.abstains else self.script()
        long = lesson.task.kind == "chain" and len(self.plan.calls) >= FEWEST_TO_FAIL
        failing = long and self.manner.chance(self.knobs.recovery)
        if failing and not (self.manner.chance(IMPOSSIBLE) and self.fail_for_good(planner, lesson.world)):
            self.insert_wrong_call()
        if self.today and not self.relative():
            self.today = ""
        if self.today:
            said = self.manner.choice(self.persona.days).format(day=long_day(date.fromisoformat(self.today)))
            self.turns[0].words = said + self.turns[0].words
        called = {call.name for turn in self.turns for move in turn.moves for call in move.calls}
        self.task = replace(self.task, candidates=self.limit_tools(self.task.candidates, called))
        self.upcoming, self.moves = iter(self.turns), iter([Move()])

    def draw_plan(self, planner: Planner) -> Plan:
        """Plan the conversation. Raises NothingFits or StepRefused."""
        goals = self.draw.choose_weighted(tuple(self.knobs.wishes), tuple(self.knobs.wishes.values()))
        first, *rest = self.task.chain
        if rest:
            return planner.follow((first, *rest))
        most = self.knobs.steps - (self.task.level == "missing")
        goals = 1 if self.task.abstains else goals
        detours = (choose_winner, correct) if self.task.kind == "chain" else ()
        return planner.plan(first, goals, self.draw.chance(STRAY), most, detours)

    def limit_tools(self, candidates: Sequence[str], called: set[str]) -> tuple[str, ...]:
        """Return at most `knobs.most` of the tools, with all that are called."""
        if len(candidates) <= self.knobs.most:
            return tuple(candidates)
        if len(called) > self.knobs.most:
            raise NothingFits(f"{len(called)} tools are called, and at most {self.knobs.most} may be shown.")
        rest = [name for name in candidates if name not in called]
        chosen = called | set(self.manner.sample(rest, self.knobs.most - len(called)))
        return tuple(name for name in candidates if name in chosen)

    @property
    def lookups(self) -> tuple[ToolCall, ...]:
        """Reads of the plan that no wish asks for: they only find the entities of a wish."""
        calls = [self.plan.calls[position] for wish in self.plan.wishes for position in wish.calls]
        wanted = [(call.tool, call.arguments) for call in calls]
        found = [(call.tool, call.arguments) for call in self.plan.calls if not call.writes]
        return tuple(ToolCall(*one) for one in found if one not in wanted)

    @property
    def acts(self) -> tuple[Act, ...]:
        """The correct act in each user turn."""
        return tuple(
            "ask"
            if turn.moves[-1].asks
            else "decline"
            if turn.declines or turn.moves[-1].text.startswith(CANNOT)
            else "call"
            if len(turn.moves) > 1
            else "answer"
            for turn in self.turns
        )

    def generate_user_turn(self, talk: Talk) -> str | None:
        turn = next(self.upcoming, None)
        if turn is None:
            return None
        self.moves = iter(turn.moves)
        return turn.words

    def move(self, talk: Talk, fault: str) -> Move:
        return next(self.moves)

    def relative(self) -> bool:
        """Return whether some text names a day relative to today."""
        words = " ".join(turn.words for turn in self.turns)
        return bool(re.search(r"\b(?:today|tomorrow|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b", words))

    def abstention(self) -> list[ScriptedTurn]:
        """Return the single turn of a wish that no tool serves."""
        wish = self.plan.wishes[-1]
        self.task = replace(self.task, candidates=self.limit_tools(self.task.candidates, set()))
        words = self.sentence([wish], opening=True)
        return [ScriptedTurn(words, [Move(text=self.cannot(wish))], declines=True)]

    def cannot(self, wish: Wish) -> str:
        """Return the text that refuses a wish for a tool that is not offered."""
        return ON.sub("", decline(wish.tool, self.task.candidates, self.manner, wish.words, wish.phrase))

    def script(self) -> list[ScriptedTurn]:
        """Return the turns, each with its wishes, the steps that fulfil them and its closing text."""
        wishes, groups = self.plan.wishes, self.draw_groups()
        open = self.open_value(groups) if self.task.level == "missing" else None
        turns, numbers = list[ScriptedTurn](), dict[int, int]()
        for number, group in enumerate(groups):
            words = self.sentence(
                [wishes[at] for at in group], not number, open if open and open.wish in group else None
            )
            turn = ScriptedTurn(words)
            now = [at for at in group if not open or at < open.wish] if open and open.wish in group else group
            later = [at for at in group if at not in now]
            turn.moves = self.moves_for(now, numbers)
            turns.append(turn)
            if later and open:
                turn.moves.append(Move(text=self.question(now, open), asks=True))
                value = wishes[open.wish].words[open.slot]
                answer = ON.sub("", fill_template(self.manner.choice(self.persona.gives), value))
                turn = ScriptedTurn(capitalize_text(answer), self.moves_for(later, numbers))
                turns.append(turn)
            turn.moves.append(Move(text=self.write_closing_text(later or now)))
        extra = max(0, len(turns) - max(self.knobs.turns))
        if sum(bool(move.calls) for turn in turns for move in turn.moves) > self.knobs.steps - extra:
            raise NothingFits("The wishes take more steps than a rollout may.")
        return self.with_leave(turns)

    def draw_groups(self) -> list[list[int]]:
        """Return the positions of the wishes by user turn."""
        size, own = len(self.plan.wishes), self.required_cuts()
        count = min(self.draw.choose_weighted(tuple(self.knobs.turns), tuple(self.knobs.turns.values())), size)
        rest = [at for at in range(1, size) if at not in own]
        cuts = sorted([*own, *self.draw.sample(rest, max(0, count - 1 - len(own)))])
        return [list(range(a, b)) for a, b in zip([0, *cuts], [*cuts, size], strict=True)]

    def required_cuts(self) -> list[int]:
        """Return the wishes that must begin a turn. Raises NothingFits.

        These are corrections, changes of mind, wishes that name an entity by the result of an earlier wish, and wishes
        that make an earlier report of the same turn untrue.
        """
        wishes, own = self.plan.wishes, list[int]()
        for at in range(1, len(wishes)):
            begins = wishes[at].link == "corrected" or takes_back(self.plan.calls, at) or self.is_hindsight(wishes[at])
            if begins or invalidates_reports(self.plan, at, range(max(own, default=0), at)):
                own.append(at)
        if len(own) >= max(self.knobs.turns):
            raise NothingFits("The user would change their mind too often.")
        return own

    def is_hindsight(self, wish: Wish) -> bool:
        """Return whether a wish names an entity by attributes that only the result of a write shows."""
        seen = [
            (one.id, self.plan.calls[one.sighting.call])
            for many in wish.referents.values()
            for one in many
            if one.sighting and one.description.kind != "only"
        ]
        return any(call.writes and id not in call.new_ids for id, call in seen)

    def with_leave(self, turns: list[ScriptedTurn]) -> list[ScriptedTurn]:
        """Return the turns, with a farewell turn added where there are too few."""
        if len(turns) < min(self.knobs.turns):
            turns.append(ScriptedTurn(self.manner.choice(self.persona.leaves), [Move(text="You are welcome.")]))
        return turns

    def fail_for_good(self, planner: Planner, opening: World) -> bool:
        """Add a turn that asks for something that has become impossible; return whether there is such a wish."""
        found = planner.find_impossible_wish(opening)
        taken = sum(bool(move.calls) for turn in self.turns for move in turn.moves) + len(self.turns)
        if found is None or len(self.turns) >= USER_TURNS or taken >= self.knobs.steps + max(self.knobs.turns):
            return False
        wish, why = found
        why = SMALL_WORD.sub(lambda found: found[0].lower(), ADVICE.sub("", why))
        if RAW_VALUE.search(name_ids(why, wish)):
            return False
        words = f"{self.manner.choice(THANKS)} {self.request(wish, 0, False, None)}"
        call = ToolCall(wish.tool, wish.arguments)
        text = f"{CANNOT} {why.removesuffix('.')}."
        self.turns.append(ScriptedTurn(words, [Move((call,)), Move(text=name_ids(text, wish))]))
        return True

    def insert_wrong_call(self) -> None:
        """Add a mistake of the assistant before some step, if one is possible."""
        places = [
            (turn, at, move.calls[0])
            for turn in self.turns
            for at, move in enumerate(turn.moves)
            if len(move.calls) == 1
        ]
        for turn, at, call in self.manner.shuffle_items(places):
            planned = next(one for one in self.plan.calls if (one.tool, one.arguments) == (call.name, call.arguments))
            for other in self.manner.shuffle_items(list(self.iter_wrong_calls(planned))):
                if not planned.before.fork().call(other.name, other.arguments or {}).ok:
                    turn.moves.insert(at, Move((other,)))
                    return

    def iter_wrong_calls(self, planned: PlannedCall) -> Iterator[ToolCall]:
        """Yield plausible wrong calls: a name instead of an id, or another tool that takes the same."""
        wish = self.plan.wishes[planned.wish]
        for name, referents in wish.referents.items():
            row = referents[0].sighting and referents[0].sighting.row
            labels = (
                [row[field] for field in referents[0].description.fields if isinstance(row[field], str)] if row else []
            )
            if labels and planned.arguments.get(name) == referents[0].id:
                yield ToolCall(planned.tool, planned.arguments | {name: labels[0]})
        used = {one.tool for one in self.plan.calls}
        for other in self.task.candidates:
            if other not in used and (arguments := taken_over(planned, TOOLS[other][1])):
                yield ToolCall(other, arguments)

    def question(self, done: Sequence[int], open: OpenValue) -> str:
        """Return the text that asks for an open value, after a report of earlier wishes."""
        return " ".join(filter(None, [self.reports(done), open.question]))

    def moves_for(self, group: Sequence[int], numbers: dict[int, int]) -> list[Move]:
        """Return the steps that fulfil some wishes, and add their calls to `numbers` (call position to step)."""
        moves = []
        for step in steps(self.plan, group):
            calls = [self.plan.calls[position] for position in step]
            rests_on = {numbers[at] for call in calls for at in call.rests_on}
            number = len(set(numbers.values()))
            numbers |= dict.fromkeys(step, number)
            moves.append(
                Move(tuple(ToolCall(one.tool, one.arguments) for one in calls), rests_on=tuple(sorted(rests_on)))
            )
            if len(calls) > 1:
                self.features.add("parallel")
        return moves

    def write_closing_text(self, group: Sequence[int]) -> str:
        first = self.plan.wishes[group[0]]
        openings = WRITE_OPENINGS if TOOLS[first.tool][1].writes else READ_OPENINGS
        return TWICE.sub(r"\1", closing_text([self.reports(group)], self.manner, openings if first.done else ("",)))

    def reports(self, group: Sequence[int]) -> str:
        """Return the reports of some wishes."""
        texts = []
        for at in group:
            wish = self.plan.wishes[at]
            if not wish.done:
                texts.append(describe_unmet_condition(wish.checked[0], wish.checked[1], self.manner))
            if wish.comparison:
                texts.append(verdict(self.plan.calls, wish, self.manner))
                continue
            for position in wish.calls:
                call = self.plan.calls[position]
                words = wish.words if len(wish.calls) == 1 else wish.words_of(position)
                about = [one for one in call.arguments.values() if isinstance(one, str)]
                words = words | {
                    name: one.name
                    for name, many in wish.referents.items()
                    for one in many
                    if one.name and name in words and (one.id in about or len(many) == 1)
                }
                differing = next(iter(wish.referents)) if wish.each else ""
                text = report(call.tool, call.arguments, words, call.text, self.manner, call.currency, differing)
                if text in PLAIN and not call.writes:
                    raise NothingFits(f"{call.tool}: no part of the result can be put into words.")
                if wish.each and text not in PLAIN and not self.names_entity(text, wish.each[position]):
                    text = f"{capitalize_text(convert_to_second_person(words[differing]))}: {text}"
                texts.append(name_ids(text, wish))
        return ON.sub("", " ".join(dict.fromkeys(texts)))

    def names_entity(self, text: str, one: Referent) -> bool:
        """Return whether a report contains a value by which the user named an entity."""
        values = [one.id]
        if one.sighting and one.sighting.row:
            phrases, row = phrases_for(self.plan.calls[one.sighting.call].tool), one.sighting.row
            values += [word(phrases, row, name, self.today) for name in one.description.fields]
        return any(value and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) for value in values)

    def open_value(self, groups: Sequence[Sequence[int]]) -> OpenValue:
        """Return a value that the user can leave open, of a wish whose tool no other wish of its turn uses.

        `groups` are the positions of the wishes by turn. Raises NothingFits where there is none.
        """
        wishes = self.plan.wishes
        options = [
            (at, slot)
            for group in groups
            for at in group
            for wish in [wishes[at]]
            if wish.done and not wish.condition and len(wish.calls) == 1 and wish.link != "corrected"
            if [wishes[other].tool for other in group].count(wish.tool) == 1
            for slot in slots(wish.phrase)
            if slot in TOOLS[wish.tool][1].required
        ]
        things_first = self.draw.chance(OPEN_ENTITIES)
        for at, slot in sorted(
            self.draw.shuffle_items(options),
            key=lambda one: things_first and one[1] not in self.plan.wishes[one[0]].referents,
        ):
            if found := self.leave_slot_open(at, self.plan.wishes[at], slot):
                return found
        raise NothingFits("There is no value that the user could leave open.")

    def leave_slot_open(self, at: int, wish: Wish, slot: str) -> OpenValue | None:
        """Return an open value for a slot; None where users would not leave it open."""
        phrases, value = phrases_for(wish.tool), wish.arguments[slot]
        said, noun = phrases.values.get(slot), slot.replace("_", " ")
        if slot in wish.referents:
            first = wish.referents[slot][0]
            if any(many[0].type == first.type for name, many in wish.referents.items() if name != slot):
                return None
            if first.description.kind in ("only", "comparison"):
                return None
            if first.sighting and len(first.sighting.rows) == 1:
                return None
            entity = phrases.entities.get(TOOLS[wish.tool][1].ids[slot])
            if entity is None or entity.noun[0][:1].isupper():
                return None
            vague = self.manner.choice(VAGUE_ENTITIES).format(with_article(entity.noun[0]), entity.noun[1])
            return self.make_open_value(at, slot, vague, "entity", entity.noun[0])
        if isinstance(value, bool | list | dict):
            return None
        if said and said.money:
            return self.make_open_value(at, slot, "a certain amount", "money", noun)
        if is_date(value):
            return self.make_open_value(at, slot, "a certain day", "day", noun)
        if isinstance(value, str) and is_instant(value):
            return self.make_open_value(at, slot, "a certain day and time", "time", noun)
        return None

    def make_open_value(self, at: int, slot: str, vague: str, kind: str, noun: str) -> OpenValue:
        return OpenValue(at, slot, vague, self.manner.choice(VAGUE_QUESTIONS[kind]).format(noun=noun))

    def sentence(self, wishes: Sequence[Wish], opening: bool, open: OpenValue | None = None) -> str:
        """Return one user turn that asks for these wishes in this order."""
        parts = list[str]()
        if opening and self.task.level != "minimal" and self.manner.chance(SITUATIONS):
            parts += self.situation(wishes)
        elif not opening and wishes[0].link != "corrected":
            if takes_back(self.plan.calls, self.plan.wishes.index(wishes[0])):
                parts.append(self.manner.choice(SECOND_THOUGHTS))
            else:
                parts += [self.manner.choice(THANKS)] if self.manner.chance(ACKNOWLEDGED) else []
                later = wishes[0].link == "second" or self.manner.chance(SITUATIONS_LATER)
                parts += self.situation(wishes) if later else []
        for position, wish in enumerate(wishes):
            own = open if open and self.plan.wishes[open.wish] is wish else None
            parts.append(self.request(wish, position, opening and not parts, own))
        return " ".join(filter(None, parts))

    def situation(self, wishes: Sequence[Wish]) -> list[str]:
        """Return the user's reason as at most one sentence; empty where the request already says it.

        The sentence is about the first wish's tool, or about tools of two servers where the wishes need both, and
        shares few words with the request.
        """
        first, own = wishes[0], [self.plan.wishes.index(one) for one in wishes]
        if gives_reason(first.phrase):
            return []
        called = {call.tool for call in self.plan.calls if call.wish in own}
        fitting = [one for one in load_scenarios() if first.tool in one.tools and count_servers(one, called) > 1]
        if not fitting:
            wanted, server = {wish.tool for wish in wishes}, TOOLS[first.tool][0].name
            near = [one for one in phrases_of(server).situations if first.tool in one.tools]
            fitting = [one for one in near if len(wanted & set(one.tools)) > 1] or near
        request = content_words(first.phrase)
        fitting = sorted(fitting, key=lambda one: len(one.tools))[: (len(fitting) + 1) // 2]  # the most specific ones
        says = self.manner.shuffle_items(self.manner.choice(fitting).says) if fitting else []
        best = [min(says, key=lambda one: len(content_words(one) & request))] if says else []
        new = [one for one in best if one not in self.situations]
        self.situations += new
        return new

    def request(self, wish: Wish, position: int, opening: bool, open: OpenValue | None) -> str:
        """Return a wish as a separate sentence."""
        words = self.add_back_references(wish)
        self.requested.append(wish)
        if open:
            words[open.slot] = open.vague
        text = wish.phrase.format(**words)
        if wish.phrase[:1].islower():
            text += wish.condition and self.manner.choice(CONDITIONS).format(wish.condition)
            if position and not self.manner.chance(BARE):
                frame = self.manner.choice(JOINTS)
            else:
                first = opening and not position and self.manner.chance(0.3)
                frame = self.manner.choice(OPENING_REQUESTS if first else REQUESTS)
            text = frame.format(text)
        elif wish.condition:
            text += self.manner.choice(CONDITION_SENTENCES).format(wish.condition)
        text = TWICE.sub(r"\1", capitalize_text(ON.sub("", text)))
        return re.sub(r"([.!?][\"”]?)[.?]$", r"\1", text)

    def add_back_references(self, wish: Wish) -> dict[str, str]:
        """Return the words for a wish's slots, with "that card" for a card that the previous wish named."""
        words = dict(wish.words)
        at = next((at for at, one in enumerate(self.plan.wishes) if one is wish), 0)
        before = [one for one in self.plan.wishes[max(0, at - 2) : at] if any(one is said for said in self.requested)]
        if not before:
            return words
        spoken = [one for wish in before for many in wish.referents.values() for one in many]
        entities = phrases_for(wish.tool).entities
        for slot, referents in wish.referents.items():
            same = [one for one in spoken if one.type == referents[0].type]
            beside = [
                many for name, many in wish.referents.items() if name != slot and many[0].type == referents[0].type
            ]
            last = any(one.id == referents[0].id for many in before[-1].referents.values() for one in many)
            just_named = (
                last and len(referents) == 1 and {one.id for one in same} == {referents[0].id} and slot in words
            )
            just_named = just_named and not beside  # otherwise "that card" might mean the other one
            plain = referents[0].type in entities and referents[0].type not in NAMED
            if just_named and plain and self.manner.chance(POINTED):
                words[slot] = f"that {entities[referents[0].type].noun[0]}"
        return words


def name_ids(text: str, wish: Wish) -> str:
    """Return a text with the names of a wish's entities in place of their ids, where the user did not say the id."""
    for one in [one for many in wish.referents.values() for one in many]:
        if OPAQUE.fullmatch(one.id):
            text = text.replace(one.id, convert_to_second_person(one.name or one.description.text))
    return text


THANKS = (
    "Thanks.", "Great.", "Good.", "Perfect, thank you.", "All right.", "OK.", "Lovely.", "Got it.", "Very good.",
    "That helps.", "Wonderful.", "Nice.", "Understood.", "Thank you!", "Okay, thanks.", "Super.", "Right.",
)  # fmt: skip
SECOND_THOUGHTS = (
    "I've changed my mind.", "Plans have changed.", "Something has come up since.", "Things look different now.",
    "Back to that once more.", "One more word on that.", "I've thought about it again.", "A change of plan.", "", "",
)  # fmt: skip


def gives_reason(phrase: str) -> bool:
    """Return whether a request gives a reason, in a clause or in a sentence next to the one that asks."""
    sentences = SENTENCE_END.split(phrase)
    return bool(REASON.search(phrase)) or (len(sentences) > 1 and any("{" not in one for one in sentences))


def with_article(noun: str) -> str:
    """Return "an account" or "a card"."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def count_servers(situation: Situation, called: Collection[str]) -> int:
    """Return the number of servers of a situation's called tools."""
    return len({TOOLS[name][0].name for name in situation.tools if name in called})


def steps(plan: Plan, group: Sequence[int]) -> list[list[int]]:
    """Return the calls of some wishes in steps.

    Look-ups that depend on nothing form the first step; independent reads, or calls of one wish, form one step.
    """
    own = [at for at, call in enumerate(plan.calls) if call.wish in group]
    first = [at for at in own if movable(plan, at, own)]
    found = [first] if first else []
    for at in own:
        if at in first:
            continue
        last = found[-1] if found else []
        if last and last is not first and can_join_step(plan, last, at):
            last.append(at)
        else:
            found.append([at])
    return found


def movable(plan: Plan, at: int, own: Sequence[int]) -> bool:
    """Return whether a call is an independent read that may be made at the beginning of its turn.

    It must have the same result there, and the user must not ask for it after a write.
    """
    call = plan.calls[at]
    if call.writes or call.rests_on & set(own):
        return False
    if not any(plan.calls[before].writes for before in own if before < at):
        return True
    if at in plan.wishes[call.wish].calls:
        return False
    return plan.calls[own[0]].before.fork().call(call.tool, call.arguments).text == call.text


def can_join_step(plan: Plan, last: Sequence[int], at: int) -> bool:
    """Return whether a call may be parallel to those of the step before it."""
    calls, call = [plan.calls[one] for one in last], plan.calls[at]
    if call.rests_on & set(last):
        return False
    if any(one.writes for one in (*calls, call)):
        return call.wish == calls[0].wish and all(one.tool == call.tool for one in calls)
    return True
