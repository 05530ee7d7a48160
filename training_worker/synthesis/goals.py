"""Planner of conversations whose steps depend on each other: each wish is planned live on the earlier observations.

A wish asks for a tool. What it needs is taken from earlier observations, or found by look-ups that the user's words
determine; so ids come from tool results, and users name entities by their attributes. Every call runs in a fork of the
world before its words are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, tee
from typing import Any

import networkx as nx

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw, Tool
from mcp_servers.core.phrases import OPTIONAL, Phrases, slots
from mcp_servers.world import World

from ..dataflow.speech import conjunction, forms, phrases_for, phrases_of
from ..graph.explicit_edges import as_taken
from ..graph.result_schema import rows_in, types_with_rows, values_in
from ..graph.sampler import Context, NothingFits, StepRefused, value, widest
from .comparisons import COMPARED, compare, measures
from .exchange import results_elsewhere
from .plan import Link, ObservedEntity, Plan, PlannedCall, Referent, Wish, changed_rows, changed_values, takes_back
from .referents import NAMED, OPAQUE, Description, are_said, descriptions, word
from .tool_results import ResultCache, ToolResult

ATTEMPTS = 5  # per wish, with other entities and words
OBSERVED = 0.25  # share of reads that come after a write which changes their result
EXTENSIONS = 14  # tools tried for the next wish
IMPOSSIBLE = 12  # tools tried for a wish that has become impossible
NOT_OF_THE_STATE = frozenset({"invalid_arguments", "unknown_tool", "not_found"})
MOST_TURNS = 6  # with calls; a rollout has ten assistant turns, up to four of which end user turns
DEPTH = 3  # look-ups that one look-up may depend on
SENTENCES = 0.85  # share of wishes that are separate sentences; the others are clauses in a frame
CONDITIONS = 0.08  # share of writes with a condition, where an observation shows a number to decide by
SEVERAL = 0.35  # share of wishes about several entities, where there are some
MEASURING = 1.4  # weight of tools that show a number to compare
MEASURED = re.compile(
    r"balance|price|(?:sub)?total|amount|fee|(?:daily_|monthly_|approval_)limit|distance|battery|quantity|budget|"
    r"capacity|likes|overdraft|value|size|views|duration|charge"
)
"""Fields that users refer to by name, as in "if its price is above 20 euros"."""
ABOVE = ("above", "more than", "over", "higher than", "greater than")
BELOW = ("below", "less than", "under", "lower than", "smaller than")
WIDE = re.compile(
    r"[a-z](?:(?!\b(?:it|its|it's|is|has|was|that|this|one|itself|says|starts|begins|ends|costs|does|gets|takes|holds|works)\b).)*"
)
"""Phrases that may be about several entities: requests without a singular form."""
AGAIN = 0.8  # share of an earlier call's days, numbers and choices that are reused for another entity
COUNTS = ("count", "files", "total_count")  # fields of a result with the total number of rows
PAGES = ("latest", "newest_comments", "largest", "reviews")  # fields of a result that list a few of many
PLAIN_NAMES = 6  # weight of names in words, relative to a number or a day
DATED = re.compile(r"\d{4}-\d\d-\d\d")
LONGEST_NAME = 80  # characters of an entity's name; longer ones are hard to understand
TEXTS = frozenset({"text", "title", "name", "body", "memo", "note", "subject", "description", "content"})
AMOUNTS = frozenset({"quantity", "units", "count", "bags", "nights", "portions"})
FREE = TEXTS | {"label", "limit", "query"}
TAKEN_BACK = 0.2  # share of wishes that undo an earlier one and are kept
EMPTY = ("[]", "{}", "null")  # results that show nothing
NEW = 0.7  # share of entities created by a call that are named "the new draft"
PARTS = 0.3  # share of entities with their own names that are named by what they are part of
RAW = 0.06  # share of ids that a look-up could find but the user says, as if copied from an e-mail
SUPERLATIVES = 0.3  # share of superlatives among descriptions, where both kinds fit


class Planner:
    """A planner of one conversation's wishes in a fork of a world. It learns about the state only through tools."""

    def __init__(
        self,
        world: World,
        graph: nx.DiGraph,
        contexts: dict[str, Context],
        draw: Draw,
        today: str = "",
        optional: float = 0.25,
    ):
        """Start without wishes.

        `contexts` are the values that read-only tools show, by server of the conversation; plain values are drawn from
        those of a tool's own server. `graph` has at least the tools of these servers. `optional` is the probability of
        each optional part of a request.
        """
        self.world, self.graph, self.contexts, self.draw, self.today = world, graph, contexts, draw, today
        self.names = tuple(sorted(name for name in graph if TOOLS[name][0].name in contexts))
        self.optional = optional
        self.wishes: list[Wish] = []
        self.calls: list[PlannedCall] = []
        self.results = ResultCache()
        self.elsewhere: dict[tuple[ToolResult, str], Iterator[tuple[str, ToolResult]]] = {}  # by result and entity
        self.sightings: dict[str, dict[str, ObservedEntity]] = {}
        self.used: set[str] = set()
        self.features: set[str] = set()
        self.templates: list[str] = []  # requests chosen so far, used or not
        self.ways: dict[str, Any] = {}  # plain arguments with which the next write enables what follows
        self.single = False  # whether the plan is one plain wish about one entity
        self.alone = False  # whether a look-up may depend on nothing
        self.unsaid = False  # whether users leave out an entity that is the only one of its kind

    def plan(
        self,
        target: str,
        goals: int,
        stray: bool,
        most: int = MOST_TURNS,
        detours: Sequence[Callable[[Planner], bool]] = (),
    ) -> Plan:
        """Return a plan of `goals` wishes, the first of which leads to the target, in about `most` steps.

        A plan of one wish ends with the wish for the target. With `stray`, one later wish may be a second goal that
        depends on nothing before it. `detours` are further ways to plan the next wish, tried before the edges of the
        graph. Raises NothingFits or StepRefused when this world cannot serve the plan.
        """
        self.alone = True
        opening, looks = self.mark(), not TOOLS[target][1].writes
        self.single = goals == 1
        if self.single:
            self.begin(target)
            return Plan(self.wishes, self.calls, self.features)
        if not (looks and self.draw.chance(OBSERVED) and self.observe(target)):
            self.begin(target)
            if looks and not self.extend():
                self.back_to(opening)
                if not self.observe(target):
                    self.begin(target)
                    stray = True
        while len(self.wishes) < goals and self.count_turns() < most:
            self.alone, mark = False, self.mark()
            if any(detour(self) for detour in detours):
                pass
            elif not self.extend() and not ((stray or len(self.wishes) == 1) and self.plan_second_goal()):
                break
            if "second_goal" in self.features:
                stray = False
            if self.count_turns() > most:
                self.back_to(mark)
                break
        if len({wish.tool for wish in self.wishes}) < 2 and len(self.calls) < 3:
            raise NothingFits(f"Nothing follows {target}.")
        return Plan(self.wishes, self.calls, self.features)

    def follow(self, chain: Sequence[str]) -> Plan:
        """Return a plan of wishes for the tools of a chain in order. Raises NothingFits or StepRefused."""
        self.alone = True
        self.begin(chain[0])
        for before, name in pairwise(chain):
            edge = self.graph.edges[before, name]
            self.achieve(name, "fed" if edge["feeds"] else "enabled" if edge["enables"] else "observed")
        return Plan(self.wishes, self.calls, self.features)

    def predecessors(self, tool: str) -> list[str]:
        """Return a tool's predecessors among the conversation's servers, sorted by name.

        Sorting is needed since a graph that was read from a file has its edges in another order.
        """
        return sorted(name for name in self.graph.predecessors(tool) if name in self.names)

    def count_turns(self) -> int:
        """Return the approximate number of assistant turns; calls of one wish to one tool are made in parallel."""
        reads = {call.wish for call in self.calls if not call.writes and not call.rests_on}
        rest = {(call.wish, call.tool) for call in self.calls if call.writes or call.rests_on}
        return len(reads) + len(rest)

    def begin(self, target: str, depth: int = DEPTH) -> None:
        """Plan the wish for the target; where it cannot come first, plan wishes before it that enable or feed it.

        Raises NothingFits or StepRefused.
        """
        try:
            self.achieve(target, "opening")
            return
        except (NothingFits, StepRefused) as reason:
            refused = isinstance(reason, StepRefused)
            before = [name for name in self.predecessors(target) if name != target and name not in self.tools()]
            edges = {name: self.graph.edges[name, target] for name in before}
            ready = [name for name in before if bool(edges[name]["enables"] if refused else edges[name]["feeds"])]
            rest = [name for name in before if name not in ready]
            for name in [*self.draw.sample(ready, 5), *self.draw.sample(rest, 2)] if depth > 0 else []:
                mark = self.mark()
                try:
                    self.ways = get_enabling_arguments(edges[name], TOOLS[name][1]) if edges[name]["enables"] else {}
                    self.begin(name, depth - 2 if refused else depth - 1)
                    self.ways = {}
                    self.achieve(target, "enabled" if edges[name]["enables"] else "fed")
                    return
                except (NothingFits, StepRefused):
                    self.ways = {}
                    self.back_to(mark)
            raise reason

    def observe(self, target: str) -> bool:
        """Plan the target as a read of what a write before it changed; return whether there is such a write."""
        writes = [name for name in self.names if TOOLS[name][1].writes and TOOLS[name][0] is TOOLS[target][0]]
        for name in self.draw.sample(writes, EXTENSIONS // 2):
            mark = self.mark()
            try:
                self.achieve(name, "opening")
                first = len(self.calls)
                self.achieve(target, "observed")
                if all(self.depends(position) for position in range(first, len(self.calls))):
                    return True
            except (NothingFits, StepRefused):
                pass
            self.back_to(mark)
        return False

    def extend(self) -> bool:
        """Plan one more wish that depends on earlier calls; return whether there is one."""
        tried = set[tuple[str, Link]]()
        options = list(self.extensions())
        for _ in range(EXTENSIONS):
            options = [one for one in options if one[:2] not in tried]
            if not options:
                return False
            name, link, _ = self.draw.choose_weighted(options, [one[2] for one in options])
            tried.add((name, link))
            mark = self.mark()
            try:
                self.achieve(name, link)
                fits = not takes_back(self.calls, len(self.wishes) - 1) or self.draw.chance(TAKEN_BACK)
                if fits and all(self.depends(position) for position in range(mark[2], len(self.calls))):
                    return True
            except (NothingFits, StepRefused):
                pass
            self.back_to(mark)
        return False

    def plan_second_goal(self) -> bool:
        """Plan a second goal, a tool of the same servers that depends on nothing; return whether there is one."""
        self.alone = True
        near = [name for name in self.names if TOOLS[name][0].name in self.servers() and name not in self.tools()]
        for name in self.draw.sample(near, EXTENSIONS // 2):
            mark = self.mark()
            try:
                self.achieve(name, "second")
            except (NothingFits, StepRefused):
                self.back_to(mark)
                continue
            self.features.add("second_goal")
            return True
        return False

    def find_impossible_wish(self, opening: World) -> tuple[Wish, str] | None:
        """Return a wish that worked in the opening world and is refused now, with the reason; None if none is found."""
        known = {
            type: call.arguments[name]
            for call in self.calls
            if call.writes
            for name, type in TOOLS[call.tool][1].ids.items()
            if isinstance(call.arguments.get(name), str)
        }
        about = [
            TOOLS[name][1]
            for name in self.names
            if TOOLS[name][1].writes and not TOOLS[name][1].sensitive and TOOLS[name][1].consumes
        ]
        for tool in self.draw.sample([one for one in about if one.consumes <= known.keys()], IMPOSSIBLE):
            ids = {name: known[type] for name, type in tool.ids.items() if name in tool.required}
            wish = Wish(tool.name, self.phrase(tool, 0), {}, [], "second")
            try:
                plain = [name for name in tool.required if name not in ids]
                wish.arguments = ids | {name: self.choose_plain_value(tool, name, ids) for name in plain}
                if any(call.tool == tool.name and call.arguments == wish.arguments for call in self.calls):
                    continue
                reply = self.world.fork().call(tool.name, wish.arguments)
                if reply.ok or reply.data["error"] in NOT_OF_THE_STATE:
                    continue
                if not opening.fork().call(tool.name, wish.arguments).ok:
                    continue
                wish.referents = {name: [self.find_referent(tool.ids[name], id)] for name, id in ids.items()}
                wish.words = self.verbalize_slots(tool, {*slots(wish.phrase)}, wish)
            except NothingFits:
                continue
            return wish, str(reply.data["message"])
        return None

    def servers(self) -> set[str]:
        return {TOOLS[call.tool][0].name for call in self.calls}

    def tools(self) -> set[str]:
        return {wish.tool for wish in self.wishes}

    def extensions(self) -> Iterator[tuple[str, Link, float]]:
        """Yield tools that may come next, with their links and weights."""
        used = self.tools()
        for position, call in enumerate(self.calls):
            late = (1.0 + position) ** 2
            for name in sorted(one for one in self.graph.successors(call.tool) if one in self.names):
                edge = self.graph.edges[call.tool, name]
                if name in used or (not edge["feeds"] and not edge["enables"]):
                    continue
                if edge["feeds"] and any(self.has_unused_entity(TOOLS[name][1].ids[one]) for one in edge["feeds"]):
                    readily = MEASURING if measures(name) else 1.0 if edge["created"] else 0.6
                    yield name, "fed", late * readily
                elif edge["enables"]:
                    yield name, "enabled", 2.0 * late
        for wish in self.wishes:
            if wish.tool in used and any(self.has_unused_entity(one) for one in TOOLS[wish.tool][1].consumes):
                yield wish.tool, "repeated", 1.0
        if self.calls and any(call.writes for call in self.calls):
            known = set(self.sightings)
            servers = {TOOLS[call.tool][0].name for call in self.calls if call.writes}
            for name in self.names:
                server, tool = TOOLS[name]
                if server.name in servers and not tool.writes and name not in used and tool.consumes <= known:
                    yield name, "observed", 2.0

    def has_unused_entity(self, id_type: str) -> bool:
        """Return whether an observation showed an entity of a type that no call has used."""
        return any(id not in self.used for id in self.sightings.get(id_type, ()))

    def depends(self, position: int) -> bool:
        """Return whether a call takes an id that only an earlier observation shows, or depends on an earlier write.

        It depends on a write if its result differs in the world before that write.
        """
        call = self.calls[position]
        if call.fresh:
            return True
        for earlier in reversed(self.calls[:position]):
            if earlier.writes:
                without = earlier.before.fork()
                without.now = call.before.now
                if self.results.call_tool(without, call.tool, call.arguments)[0].text != call.text:
                    return True
        return False

    def mark(self) -> tuple[Any, ...]:
        """Return the state that `back_to` restores.

        The world, the sightings and the used ids are replaced and never changed, so references suffice.
        """
        return self.world, len(self.wishes), len(self.calls), self.sightings, self.used, set(self.features)

    def back_to(self, mark: tuple[Any, ...]) -> None:
        self.world, wishes, calls, self.sightings, self.used, features = mark
        self.features = set(features)
        del self.wishes[wishes:], self.calls[calls:]
        for wish in self.wishes:
            wish.calls = [position for position in wish.calls if position < calls]

    def try_to_achieve(self, name: str, link: Link, named: Mapping[str, Referent]) -> bool:
        """Plan a wish for a tool about the named entities; return whether that works."""
        try:
            self.achieve(name, link, named)
        except (NothingFits, StepRefused):
            return False
        return True

    def achieve(self, name: str, link: Link, named: Mapping[str, Referent] | None = None) -> None:
        """Plan a wish for a tool, perhaps about `named` entities, by parameter.

        Raises NothingFits or StepRefused after some attempts with other entities, or two with the same reason.
        """
        mark, failed = self.mark(), ""
        for attempt in range(ATTEMPTS):
            try:
                self.attempt(name, link, self.optional + 0.15 * attempt, named or {})
                return
            except (NothingFits, StepRefused) as reason:
                self.back_to(mark)
                if attempt == ATTEMPTS - 1 or str(reason) == failed:
                    raise
                failed = str(reason)

    def attempt(self, name: str, link: Link, wishes: float, named: Mapping[str, Referent]) -> None:
        """Plan a wish once: choose a phrase, bind its slots, run look-ups and the call."""
        tool = TOOLS[name][1]
        several = link != "observed" and not self.single and not named
        several = several and self.draw.chance(COMPARED if measures(name) else SEVERAL)
        phrase = self.phrase(tool, wishes, several)
        wanted = {*slots(phrase)}
        arguments = dict[str, Any]()
        referents = {parameter: [one] for parameter, one in named.items()}
        arguments |= {parameter: as_taken(tool, parameter, one.id) for parameter, one in named.items()}
        arguments |= {one: by for one, by in self.ways.items() if one in tool.required}
        if link == "enabled":
            arguments |= self.find_shared_ids(tool)
        wish = Wish(name, phrase, {}, [], link, referents)
        self.wishes.append(wish)
        if tool.consumes and link in ("fed", "repeated") and not named:
            parameter = self.fed_parameter(tool)
            referents[parameter] = [self.pick_sighting(tool, parameter, arguments, fresh=True)]
            arguments[parameter] = as_taken(tool, parameter, referents[parameter][0].id)
        needed = {*tool.required, *wanted} - arguments.keys()
        for parameter in [one for one in tool.input_schema["properties"] if one in needed]:
            if parameter in tool.ids:
                found = self.refer(tool, parameter, arguments)
                referents[parameter] = [found]
                arguments[parameter] = as_taken(tool, parameter, found.id)
            else:
                arguments[parameter] = self.choose_plain_value(tool, parameter, arguments)
        for parameter in [one for one in arguments if one in tool.ids and one not in referents]:
            referents[parameter] = [
                self.find_referent(tool.ids[parameter], one) for one in wrap_in_list(arguments[parameter])
            ]
        wish.arguments = {one: arguments[one] for one in tool.input_schema["properties"] if one in arguments}
        if any(not one.done and one.tool == name for one in self.wishes):
            raise NothingFits(f"{name} already has a condition that is not met.")
        if is_circular(referents):
            raise NothingFits(f"{name}: one of its entities would be named by another one.")
        wish.words = self.verbalize_slots(tool, wanted, wish)
        conditional = tool.writes and not self.single and not named and self.draw.chance(CONDITIONS)
        if conditional and self.conditional(wish) and not wish.done:
            return
        self.fulfil(wish, wish.arguments, [one for many in referents.values() for one in many])
        if link == "observed" and self.calls[-1].text in EMPTY:
            raise NothingFits(f"{name} shows that nothing is left.")
        if link == "repeated" and self.overwrites(wish):
            raise NothingFits(f"{name}: it would overwrite what was just done.")
        if several and not wish.condition:
            self.widen(wish, tool)
            compare(self, wish)

    def fulfil(self, wish: Wish, arguments: dict[str, Any], referents: Sequence[Referent]) -> None:
        """Run a call that a wish asks for. Raises NothingFits when its result is already known, or StepRefused."""
        before = len(self.calls)
        position = self.run(wish.tool, arguments, referents)
        if position < before:
            raise NothingFits(f"The result of {wish.tool} is already known.")
        wish.calls.append(position)

    def overwrites(self, wish: Wish) -> bool:
        """Return whether a wish overwrites what an earlier wish for the same tool set; a user would only ask once."""
        own = {place for at in wish.calls for place, _, new in changed_values(self.calls[at]) if not new.isdecimal()}
        earlier = [
            call for call in self.calls if call.writes and call.tool == wish.tool and call.wish < len(self.wishes) - 1
        ]
        return any(place in own for call in earlier for place, _, _ in changed_values(call))

    def conditional(self, wish: Wish) -> bool:
        """Make a wish conditional on a number that an observation shows of its entity; return whether one fits."""
        for one in [one for many in wish.referents.values() for one in many if one.sighting and one.sighting.row]:
            assert one.sighting and one.sighting.row
            phrases = phrases_for(self.calls[one.sighting.call].tool)
            fields = [
                name
                for name, value in one.sighting.row.items()
                if MEASURED.fullmatch(name)
                and type(value) is int
                and value >= 10
                and name not in one.description.fields
            ]
            for name in self.draw.sample(fields, 1):
                value, above = one.sighting.row[name], self.draw.chance(0.5)
                bound = round_number(value * self.draw.choice((0.5, 0.7, 0.8, 1.25, 1.5, 2)))
                currency = str(one.sighting.row.get("currency") or "")
                said = [forms(phrases, name, number, currency=currency) for number in (bound, value)]
                if bound == value or not all(said):
                    return False
                possible = self.world.fork().call(wish.tool, wish.arguments).ok
                if not possible or (unit_of(phrases, name) == "percent" and not 0 < bound < 100):
                    return False
                noun, alone = name.replace("_", " "), sum(map(len, wish.referents.values())) == 1
                label = f"the {noun} of {one.description.text}"
                verb, sign = "are" if name.endswith("s") else "is", self.draw.choice(ABOVE if above else BELOW)
                wish.condition = (
                    f"{f'its {noun}' if alone and one.type not in NAMED else label} {verb} {sign} {said[0][0]}"
                )
                wish.checked = (label, said[1][0])
                wish.done = (value > bound) == above
                self.features.add("conditional")
                return True
        return False

    def widen(self, wish: Wish, tool: Tool) -> None:
        """Extend a wish to one or two further entities of the same list, if the order does not matter."""
        singles = [
            name for name in wish.referents if len(wrap_in_list(wish.arguments[name])) == 1 and name in tool.required
        ]
        own_words = (TEXTS | AMOUNTS) & wish.arguments.keys()  # these differ between entities
        if (
            not singles
            or len(wish.referents) > 1
            or own_words
            or not WIDE.fullmatch(wish.phrase)
            or len(wish.calls) != 1
        ):
            return
        name, first = singles[0], wish.referents[singles[0]][0]
        if first.sighting is None or isinstance(wish.arguments[name], list) or "," in first.description.text:
            return
        others = [
            one
            for one in self.sightings.get(first.type, {}).values()
            if one.call == first.sighting.call and one.id != first.id and one.id not in self.used
        ]
        referents = [first]
        for sighting in self.draw.sample(others, self.draw.integer(1, 2)):
            described, mark = self.describe(sighting), self.mark()
            if described is None or described.kind != "attributes" or "," in described.text:
                continue
            referent = Referent(sighting.id, first.type, described, sighting)
            try:
                self.fulfil(wish, wish.arguments | {name: sighting.id}, [referent])
            except (NothingFits, StepRefused):
                self.back_to(mark)
                continue
            referents.append(referent)
        if len(referents) > 1:
            wish.referents[name] = referents
            wish.each = dict(zip(wish.calls, referents, strict=True))
            if first.description.kind != "attributes" or not self.commutes(wish):
                raise NothingFits(f"{tool.name}: the order of its entities matters.")
            wish.words[name] = conjunction([one.description.text for one in referents])
            self.features.add("several")

    def commutes(self, wish: Wish) -> bool:
        """Return whether the calls of a wish have the same results and final world in the opposite order."""
        calls = [self.calls[position] for position in wish.calls]
        world = calls[0].before.fork()
        same = all(world.call(one.tool, one.arguments).text == one.text for one in reversed(calls))
        return same and world.digest() == self.world.digest()

    def phrase(self, tool: Tool, wishes: float, several: bool = False) -> str:
        """Return a request for a tool, on request for `several` entities.

        Each bracket stays with probability `wishes`, unless it has a sensitive parameter.
        """
        said = phrases_for(tool.name).tools[tool.name]
        options = said.sentences if self.draw.chance(SENTENCES) else said.clauses
        if several:
            options = tuple(one for one in said.clauses if WIDE.fullmatch(one)) or options
        options = tuple(one for one in options if one not in self.templates) or options

        def replace_bracket(bracket: Any) -> str:
            names = set(slots(bracket[1]))
            return bracket[1] if self.draw.chance(wishes) and not names & tool.sensitive else ""

        self.templates.append(self.draw.choice(options))
        return OPTIONAL.sub(replace_bracket, self.templates[-1])

    def fed_parameter(self, tool: Tool) -> str:
        """Return a required id parameter for which a fresh entity exists. Raises NothingFits."""
        options = [one for one in tool.required if one in tool.ids and self.has_unused_entity(tool.ids[one])]
        if not options:
            raise NothingFits(f"No new entity was shown for {tool.name}.")
        return self.draw.choice(options)

    def find_shared_ids(self, tool: Tool) -> dict[str, Any]:
        """Return the ids that a step shares with the one that enables it: what is unlocked is then opened."""
        for call in reversed(self.calls):
            edge = self.graph.get_edge_data(call.tool, tool.name)
            if edge and edge["enables"]:
                shares = edge["enables"].get("shares", {})
                return {own: call.arguments[other] for own, other in shares.items() if other in call.arguments}
        return {}

    def refer(self, tool: Tool, parameter: str, arguments: dict[str, Any], depth: int = DEPTH) -> Referent:
        """Return an entity for an id parameter: one already shown, or one that a look-up finds."""
        id_type = tool.ids[parameter]
        if self.sightings.get(id_type) and self.draw.chance(0.85 if self.alone else 1.0):
            try:
                return self.pick_sighting(tool, parameter, arguments, fresh=False)
            except NothingFits:
                pass
        return self.look_up(tool, parameter, arguments, depth)

    def pick_sighting(self, tool: Tool, parameter: str, arguments: dict[str, Any], fresh: bool) -> Referent:
        """Return an entity that an observation showed and that a description identifies. Raises NothingFits."""
        id_type, taken = tool.ids[parameter], values_of(arguments)
        known = [one for one in self.sightings.get(id_type, {}).values() if one.id not in taken]
        known = [one for one in known if not (fresh and one.id in self.used)]
        latest = max((one.call for one in known), default=0)
        near = [one for one in known if one.call == latest]
        for sighting in [*self.draw.sample(near, 4), *self.draw.sample(known, 4)]:
            if described := self.describe(sighting):
                return self.referent(sighting, described)
        raise NothingFits(f"No {id_type} that was shown can be named for {tool.name}.")

    def find_referent(self, id_type: str, id: str) -> Referent:
        """Return the referent of an id that an earlier call used. Raises NothingFits."""
        sighting = self.sightings.get(id_type, {}).get(str(id))
        if sighting and (described := self.describe(sighting)):
            return self.referent(sighting, described)
        for wish in reversed(self.wishes):
            for many in wish.referents.values():
                for one in many:
                    if one.id == str(id):
                        return one
        raise NothingFits(f"No description names the shared {id_type}.")

    def look_up(self, tool: Tool, parameter: str, arguments: dict[str, Any], depth: int) -> Referent:
        """Return an entity that a read-only tool shows, which is called first. Raises NothingFits."""
        if not depth:
            raise NothingFits(f"{tool.name}: {parameter} takes too many look-ups.")
        id_type = tool.ids[parameter]
        for name in self.finders(tool, parameter):
            finder = TOOLS[name][1]
            mark = self.mark()
            try:
                if not self.alone and not finder.consumes:
                    raise NothingFits(f"{name} depends on nothing.")
                own, referents = dict[str, Any](), list[Referent]()
                for needed in finder.required:
                    found = self.refer(finder, needed, own, depth - 1)
                    referents.append(found)
                    own[needed] = as_taken(finder, needed, found.id)
                position = self.run(name, own, referents)
                sightings = [
                    one
                    for one in self.sightings.get(id_type, {}).values()
                    if one.call == position and one.id not in values_of(arguments)
                ]
                for sighting in self.draw.sample(sightings, 5):
                    if described := self.describe(sighting, referents):
                        if OPAQUE.fullmatch(sighting.id) and self.draw.chance(RAW):
                            self.back_to(mark)
                            self.features.add("raw_id")
                            return Referent(sighting.id, id_type, Description(sighting.id, "attributes"))
                        return self.referent(sighting, described)
            except (NothingFits, StepRefused):
                pass
            self.back_to(mark)
        known = self.contexts[TOOLS[tool.name][0].name].ids.get(id_type, {})
        options = [one for one in known if not OPAQUE.fullmatch(one) and one not in values_of(arguments)]
        if options:
            chosen = self.draw.choice(options)
            return Referent(chosen, id_type, Description(chosen, "attributes"))
        raise NothingFits(f"No look-up finds a {id_type} for {tool.name}.")

    def finders(self, tool: Tool, parameter: str) -> list[str]:
        """Return read-only tools that require only ids and provably show a parameter's values; own server first."""
        found = [
            name
            for name in self.predecessors(tool.name)
            if parameter in self.graph.edges[name, tool.name]["feeds"]
            and not TOOLS[name][1].writes
            and all(one in TOOLS[name][1].ids for one in TOOLS[name][1].required)
        ]
        if tool.ids[parameter] in NAMED:
            found = [name for name in found if not TOOLS[name][1].required]
        own = [name for name in found if TOOLS[name][0] is TOOLS[tool.name][0]]
        others = [name for name in found if name not in own]
        near, far = self.draw.shuffle_items(own), self.draw.shuffle_items(others)
        return [*near, *far[:2]] if not near or self.draw.chance(0.85) else [*far[:1], *near]

    def referent(self, sighting: ObservedEntity, described: Description) -> Referent:
        """Return a referent, with a plain name for answers where the description is a superlative or a figure."""
        name = ""
        if (
            sighting.row is not None
            and described.kind != "only"
            and (described.kind == "superlative" or is_figure(sighting.row, described))
        ):
            plain = [
                one.text
                for one in self.ways_to_describe(sighting)
                if one.kind == "attributes" and not is_figure(sighting.row, one)
            ]
            name = next((one for one in plain if "(" not in one), "")
        return Referent(sighting.id, sighting.type, described, sighting, name)

    def describe(self, sighting: ObservedEntity, through: Sequence[Referent] = ()) -> Description | None:
        """Return a description that identifies an entity among all shown ones of its type, or None.

        `through` are the entities that the look-up was about: "the cheapest dish of the nearest restaurant".
        """
        phrases = phrases_for(self.calls[sighting.call].tool)
        if sighting.row is None:
            return self.describe_part(sighting, through)
        call = self.calls[sighting.call]
        rows, is_page = self.all_rows(sighting)
        options = self.ways_to_describe(sighting)
        is_complete = not is_page and len(rows) == len(sighting.rows)  # superlatives need the whole list
        options = [one for one in options if one.kind == "attributes" or is_complete]
        others = [one for one in self.sightings.get(sighting.type, {}).values() if one.id != sighting.id and one.row]
        alone = bool(through) or (not call.arguments and not call.writes)
        options = [
            one
            for one in options
            if is_unambiguous(one, sighting, others) and (one.kind != "only" or (alone and sighting.type not in NAMED))
        ]
        if not options:
            return None
        if [one.id for one in self.list_created_entities(sighting.type)] == [sighting.id] and self.draw.chance(NEW):
            return Description(f"the new {phrases.entities[sighting.type].noun[0]}", "only")
        options = [one for one in options if "(" not in one.text] or options
        if self.unsaid:
            options = [one for one in options if one.kind == "only"] or options
        best = [one for one in options if one.kind == "superlative"]
        rest = [one for one in options if one.kind != "superlative"]
        weights = [1 if is_figure(sighting.row, one) else PLAIN_NAMES for one in rest]
        plain = not best or (PLAIN_NAMES in weights and not self.draw.chance(SUPERLATIVES))
        chosen = self.draw.choose_weighted(rest, weights) if rest and plain else self.draw.choice(best)
        if not self.proves(sighting, chosen) or (
            self.has_later_write(sighting.call) and not self.still_fits(sighting, chosen)
        ):
            return None
        if chosen.kind == "superlative":
            self.features.add("superlative")
        if through and sighting.type not in NAMED:
            inside = conjunction([self.spelled_out(one) for one in through])
            said = [word(phrases, sighting.row, name, self.today) for name in chosen.fields]
            if not any(one and one in inside for one in said):
                chosen = replace(chosen, text=f"{chosen.text} {phrases.entities[sighting.type].within} {inside}")
        return chosen if len(chosen.text) <= LONGEST_NAME else None

    def ways_to_describe(self, sighting: ObservedEntity) -> list[Description]:
        """Return the ways to describe an entity among all rows that its look-up can show."""
        known, key = self.calls[sighting.call].result.ways, (sighting.type, sighting.id)
        if key not in known:
            phrases, rows = phrases_for(self.calls[sighting.call].tool), self.all_rows(sighting)[0]
            known[key] = descriptions(phrases, sighting.type, sighting.row or {}, rows, self.today)
        return known[key]

    def all_rows(self, sighting: ObservedEntity) -> tuple[Sequence[dict[str, Any]], bool]:
        """Return all rows of an entity's type that its look-up can show, and whether there may be more."""
        call = self.calls[sighting.call]
        if sighting.type not in call.result.lists:
            call.result.lists[sighting.type] = self.list_rows(call, sighting)
        every, is_page = call.result.lists[sighting.type]
        if call.writes:
            return sighting.rows, is_page
        assert sighting.row is not None
        return [sighting.row, *(row for row in every if row.get("id") != sighting.id)], is_page

    def list_rows(self, call: PlannedCall, sighting: ObservedEntity) -> tuple[Sequence[dict[str, Any]], bool]:
        """Return the rows of an entity's type that a call shows with its largest limit; whether there may be more."""
        paths = [row.path for row in rows_in(call.tool, call.result.data) if row.type == sighting.type]
        is_page = any(part in PAGES for path in paths for part in path)
        if call.writes:
            return sighting.rows, is_page
        data, rows, most = call.result.data, sighting.rows, widest(TOOLS[call.tool][1])
        if most and most != call.arguments.get("limit"):
            full, _ = self.results.call_tool(call.before, call.tool, call.arguments | {"limit": most})
            data = full.data if full.ok else data
            entities = full.entities if full.ok else call.result.entities
            rows = next((one.rows for one in entities if one.type == sighting.type and one.row), rows)
        result = data if isinstance(data, dict) else {}
        counted = any(isinstance(one := result.get(name), int) and one > len(rows) for name in COUNTS)
        return rows, is_page or counted or bool(result.get("more")) or len(rows) == most > 0

    def spelled_out(self, referent: Referent) -> str:
        """Return the words for an entity, with its noun where they are only the id: "the tag to-print"."""
        entities = (phrases.entities for phrases in map(phrases_of, self.contexts) if referent.type in phrases.entities)
        noun = next((each[referent.type].noun[0] for each in entities), "")
        alone = referent.description.text == referent.id and referent.type not in NAMED and noun
        return f"the {noun} {referent.id}" if alone else referent.description.text

    def list_created_entities(self, id_type: str) -> list[ObservedEntity]:
        """Return the entities of a type that calls of this conversation created."""
        sightings = self.sightings.get(id_type, {}).values()
        return [one for one in sightings if one.id in self.calls[one.call].new_ids]

    def describe_part(self, sighting: ObservedEntity, through: Sequence[Referent]) -> Description | None:
        """Return words for an id that is only a field of the looked-up entity: "the thread of the message from Hana".

        None where there are several, and mostly where a look-up shows its own name.
        """
        entity = phrases_for(self.calls[sighting.call].tool).entities.get(sighting.type)
        if not through or entity is None or sighting.type in NAMED:
            return None
        if sighting.type in types_with_rows() and not self.unsaid and not self.draw.chance(PARTS):
            return None
        if sum(one.call == sighting.call for one in self.sightings[sighting.type].values()) != 1:
            return None
        inside = conjunction([self.spelled_out(one) for one in through])
        chosen = Description(f"the {entity.noun[0]} {entity.within} {inside}", "only")
        return chosen if self.proves(sighting, chosen) else None

    def proves(self, sighting: ObservedEntity, chosen: Description) -> bool:
        """Return whether the same look-up and words identify another entity where that has this one's place.

        No proof is needed for an address or a path, which the words contain, for an id that a call created, and for an
        id in the call's own arguments.
        """
        call = self.calls[sighting.call]
        known = any(sighting.id in wrap_in_list(value) for value in call.arguments.values())
        if not OPAQUE.fullmatch(sighting.id) or call.writes or known:
            return True
        key = (sighting.type, sighting.id, chosen.text)
        proofs = call.result.proofs
        if key not in proofs:
            tried = self.results_elsewhere(call, sighting)
            proofs[key] = any(self.singles_out(result, sighting.type, id, chosen) for id, result in tried)
        return proofs[key]

    def results_elsewhere(self, call: PlannedCall, sighting: ObservedEntity) -> Iterator[tuple[str, ToolResult]]:
        """Yield other entities, each with a call's result in a world in which it has the place of the one seen."""
        key = call.result, sighting.id
        found = self.elsewhere.get(key) or (
            (id, ToolResult(call.tool, texts[0])) for id, texts in results_elsewhere([call], sighting)
        )
        self.elsewhere[key], again = tee(found)
        return again

    def still_fits(self, sighting: ObservedEntity, chosen: Description) -> bool:
        """Return whether the same look-up would still identify an entity by these words, after a write."""
        call = self.calls[sighting.call]
        if call.writes:
            return True
        now, _ = self.results.call_tool(self.world, call.tool, call.arguments)
        return now.ok and self.singles_out(now, sighting.type, sighting.id, chosen)

    def singles_out(self, result: ToolResult, id_type: str, id: str, chosen: Description) -> bool:
        """Return whether words identify an entity alone in a result."""
        if OPAQUE.fullmatch(id) and id not in result.text:
            return False
        entities = {one.id: one for one in result.entities if one.type == id_type}
        one = entities.get(id)
        if one is None or one.row is None:
            return one is not None and len(entities) == 1
        return are_said(chosen, phrases_for(result.tool), id_type, one.row, one.rows, self.today)

    def choose_plain_value(self, tool: Tool, parameter: str, arguments: dict[str, Any]) -> Any:
        """Return a value for a parameter that is not an id: from the entities' own rows, else from its server."""
        schema, used = tool.input_schema["properties"][parameter], values_of(arguments)
        if parameter in tool.seen:
            seen_nearby = [
                known
                for call in reversed(self.calls)
                if TOOLS[call.tool][0] is TOOLS[tool.name][0]
                for name, known in values_in(call.result.data)
                if name == tool.seen[parameter]
            ]
            if seen_nearby:
                return as_taken(tool, parameter, self.draw.choice(list(dict.fromkeys(seen_nearby))[:12]))
        server = TOOLS[tool.name][0]
        for call in reversed(self.calls):
            again = call.arguments.get(parameter)
            near = TOOLS[call.tool][0] is server and call.tool != tool.name
            if not near or again is None or not same_kind(tool, call.tool, parameter):
                continue
            rows = [one.row for one in call.result.entities if one.id in used and one.row]
            if all(row.get(parameter) != again for row in rows) and self.draw.chance(AGAIN):  # else nothing changes
                return again
        context, said = self.contexts[server.name], phrases_for(tool.name).values.get(parameter)
        return value(tool, parameter, schema, context, self.draw, self.world, used, said.days if said else "soon")

    def verbalize_slots(self, tool: Tool, wanted: set[str], wish: Wish) -> dict[str, str]:
        """Return the words for each slot of a phrase. Raises NothingFits for a value that has no words."""
        phrases, said = phrases_for(tool.name), dict[str, str]()
        for name in sorted(wanted):
            if name in wish.referents:
                said[name] = " and ".join(one.description.text for one in wish.referents[name])
                continue
            spoken_of = [one for many in wish.referents.values() for one in many]
            ways = forms(phrases, name, wish.arguments[name], self.today, self.currency(spoken_of))
            if not ways:
                raise NothingFits(f"{tool.name}: there are no words for {name} {wish.arguments[name]!r}.")
            said[name] = self.draw.choice(ways)
        return said

    def run(self, name: str, arguments: dict[str, Any], referents: Sequence[Referent]) -> int:
        """Call a tool in the fork, note its entities, and return the call's position.

        Raises StepRefused, and NothingFits for a write that changes nothing.
        """
        rests_on = frozenset(one.sighting.call for one in referents if one.sighting)
        for position, call in enumerate(self.calls):
            if (
                call.tool == name
                and call.arguments == arguments
                and not call.writes
                and not self.has_later_write(position)
            ):
                return position
        before = self.world
        result, after = self.results.call_tool(before, name, arguments)
        if not result.ok:
            raise StepRefused(f"{name}: {result.text}")
        if TOOLS[name][1].writes and not changed_rows(TOOLS[name][0].name, before, after):
            raise NothingFits(f"{name} changes nothing: the state is already so.")
        self.world, position = after, len(self.calls)
        fresh = any(
            one.sighting and (one.id not in self.used or one.description.kind == "comparison") for one in referents
        )
        wish, currency = len(self.wishes) - 1, self.currency(referents)
        self.calls.append(PlannedCall(name, arguments, result, wish, rests_on, before, after, fresh, currency))
        self.note(position, result)
        tool = TOOLS[name][1]
        self.used = self.used | {str(one) for parameter in tool.ids for one in wrap_in_list(arguments.get(parameter))}
        return position

    def currency(self, referents: Sequence[Referent]) -> str:
        """Return the currency in the rows of entities, or of the calls that show them; "" where there is none."""
        for sighting in [one.sighting for one in referents if one.sighting]:
            if found := (sighting.row or {}).get("currency") or self.calls[sighting.call].currency:
                return str(found)
        return ""

    def has_later_write(self, position: int) -> bool:
        """Return whether something was written after a call."""
        return any(call.writes for call in self.calls[position + 1 :])

    def note(self, position: int, result: ToolResult) -> None:
        """Record the entities that a result shows, each with all rows of its type there."""
        fresh = {
            type: dict(self.sightings.get(type, {})) for type in dict.fromkeys(one.type for one in result.entities)
        }
        for one in result.entities:
            if one.row is not None or one.id not in fresh[one.type]:
                fresh[one.type][one.id] = ObservedEntity(one.type, one.id, position, one.row, one.rows)
        self.sightings = self.sightings | fresh


def is_unambiguous(described: Description, sighting: ObservedEntity, others: Sequence[ObservedEntity]) -> bool:
    """Return whether a description of an entity fits no other one of its type that another list showed."""
    if described.kind != "attributes":
        return all(one.call == sighting.call for one in others)
    row = sighting.row or {}
    return not any(
        all((one.row or {}).get(name) == row.get(name) for name in described.fields)
        for one in others
        if one.call != sighting.call
    )


def is_circular(referents: Mapping[str, Sequence[Referent]]) -> bool:
    """Return whether an entity is named by another one of the same wish: "take the tag of the plan off the plan"."""
    texts = {name: [one.description.text for one in many] for name, many in referents.items()}
    parts = [
        (name, one.description.text)
        for name, many in referents.items()
        for one in many
        if one.description.kind == "only"
    ]
    return any(text in other for own, other in parts for name, many in texts.items() if name != own for text in many)


def unit_of(phrases: Phrases, name: str) -> str:
    """Return the unit of a field; "" where it has none."""
    said = phrases.values.get(name)
    return said.unit[0] if said and said.unit else ""


def get_enabling_arguments(edge: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """Return the plain arguments with which a tool enables another: gear D, not any gear."""
    return {
        name: value
        for name, value in edge["enables"]["producer"]["arguments"].items()
        if name in tool.required and name not in tool.ids and name not in tool.sensitive and name not in tool.seen
    }


def same_kind(tool: Tool, other: str, parameter: str) -> bool:
    """Return whether two tools take the same kind of day, number or choice under the same name."""
    one, two = (each.input_schema["properties"].get(parameter) for each in (tool, TOOLS[other][1]))
    return one == two and one is not None and parameter not in tool.sensitive and parameter not in FREE


def round_number(number: float) -> int:
    """Return a number rounded as users choose one: two digits, then zeros."""
    digits = max(0, len(str(int(number))) - 2)
    return int(round(number, -digits))


def is_figure(row: Mapping[str, Any], described: Description) -> bool:
    """Return whether a description uses a number or a day: "the account with 20 euros on it"."""
    values = [row.get(name) for name in described.fields]
    return any(isinstance(one, int | float) or (isinstance(one, str) and DATED.match(one)) for one in values)


def values_of(arguments: Mapping[str, Any]) -> set[str]:
    """Return the values of arguments as strings, with lists flattened."""
    return {str(one) for value in arguments.values() for one in wrap_in_list(value)}


def wrap_in_list(value: Any) -> list[Any]:
    """Return the values of a parameter that may take several."""
    return value if isinstance(value, list) else [] if value is None else [value]
