"""The programmatic teacher: plans a whole conversation in a fork of the world, then plays it, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_servers.catalogue import TOOLS
from mcp_servers.world import World

from ..trajectory import ToolCall
from .language import ABSTENTIONS, PERSONAS, PLAIN, sentence, singular
from .machine import Lesson, Move, Talk
from .planner import Done, run_chain
from .recovery import slip, wish
from .sampler import Context, NothingFits
from .wording import WISHES, Open, leave_open, split_for, with_date, with_days, word_turns

IMPOSSIBLE = 0.25  # of the failures are of wishes that have become impossible; the others are slips
FEWEST_TO_FAIL = 3  # steps, or one failure would be more than the share of errors that validation allows


@dataclass
class Turn:
    """What the user says, and what the assistant then does, up to a text."""

    words: str
    moves: list[Move]


class Programmatic:
    """A teacher that needs no language model."""

    def __init__(self, lesson: Lesson):
        """Plans; leaves the world as it is. Raises NothingFits or StepRefused."""
        task, world, context, knobs = lesson.task, lesson.world, lesson.context, lesson.knobs
        self.task, self.knobs, self.draw, self.manner = task, knobs, lesson.draw, lesson.manner
        self.persona = PERSONAS[task.persona] if task.persona else PLAIN
        self.today = ""
        after = world.fork()
        steps = run_chain(task.chain, lesson.graph, after, context, self.draw, knobs, WISHES[task.level])
        if self.persona.careful:
            steps = [replace(step, ask=singular(step.ask, step.arguments)) for step in steps]
        if task.kind != "chain":
            self.turns = [self.abstention(steps[-1])]
        else:
            turn_of = self.plan(steps, f"{world.now:%Y-%m-%d}")
            failing = len(steps) >= FEWEST_TO_FAIL and self.manner.chance(knobs.recovery)
            if failing and not (self.manner.chance(IMPOSSIBLE) and self.fail_for_good(steps, world, after, context)):
                self.slip(steps, turn_of)
            if len(self.turns) < min(knobs.turns):
                self.turns.append(Turn(self.manner.choice(self.persona.leaves), [Move(text="You are welcome.")]))
        self.upcoming = iter(self.turns)
        self.moves = iter([Move()])

    def ask(self, talk: Talk) -> str | None:
        turn = next(self.upcoming, None)
        if turn is None:
            return None
        self.moves = iter(turn.moves)
        return turn.words

    def move(self, talk: Talk, fault: str) -> Move:
        return next(self.moves)

    def abstention(self, asked: Done) -> Turn:
        words = sentence([asked.alone()], self.draw, persona=self.persona)
        return Turn(words, [Move(text=self.draw.choice(ABSTENTIONS))])

    def plan(self, steps: Sequence[Done], today: str) -> list[int]:
        """Set the turns; the turn of each step."""
        level, relative, open = self.task.level, False, None
        if self.manner.chance(self.knobs.dates):
            steps, relative = with_days(steps, today, self.manner)
        turn_of = split_for(level, steps, self.draw, self.knobs.turns, self.persona)
        if level == "missing":
            found = leave_open(steps, turn_of, self.draw, self.persona)
            if found is None:
                raise NothingFits("There is nothing that the user could leave open.")
            open, turn_of, words = found
        else:
            words = word_turns(steps, turn_of, self.draw, level, self.persona)
            if level == "minimal" and all(one.clause in words[turn] for one, turn in zip(steps, turn_of, strict=True)):
                raise NothingFits("There is nothing that goes without saying.")
        if relative:
            self.today, words = today, with_date(words, today, self.manner, self.persona)
        self.turns = [Turn(text, played(turn, steps, turn_of, open)) for turn, text in enumerate(words)]
        return turn_of

    def fail_for_good(self, steps: Sequence[Done], opening: World, after: World, context: Context) -> bool:
        """Add a turn that asks for something that has become impossible; whether there is such a thing."""
        found = wish(steps, opening, after, context, self.manner)
        if found is None:
            return False
        words = sentence([found.words], self.manner, self.turns[-1].words, self.persona)
        self.turns.append(Turn(words, [Move((found.call,)), Move(text=f"That cannot be done: {found.why}")]))
        if found.call.name not in self.task.candidates:
            candidates = self.manner.shuffled([*self.task.candidates, found.call.name])
            self.task = replace(self.task, candidates=tuple(candidates))
        return True

    def slip(self, steps: Sequence[Done], turn_of: Sequence[int]) -> None:
        """Let the assistant make a mistake before some step, if there is one to be made."""
        for position in self.manner.shuffled(range(len(steps))):
            call = slip(position, steps, turn_of, self.task.candidates, self.manner)
            if call:
                place = turn_of[:position].count(turn_of[position])
                self.turns[turn_of[position]].moves.insert(place, Move((call,)))
                return


def played(turn: int, steps: Sequence[Done], turn_of: Sequence[int], open: Open | None) -> list[Move]:
    """The moves of one turn: its steps, and then the answer, or the question for what the user left open."""
    own = [step for step, of in zip(steps, turn_of, strict=True) if of == turn]
    moves = [
        Move((ToolCall(step.tool, step.arguments),), rests_on=tuple(sorted(set(step.fed_by.values())))) for step in own
    ]
    if open and turn == turn_of[open.step] - 1:
        return [*moves, Move(text=open.question, asks=True)]
    return [*moves, Move(text="Done." if TOOLS[own[-1].tool][1].writes else "Here is what I found.")]
