"""Parser of queries into trees, with explanations of invalid ones."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, v_args

from .ast import AllOf, AnyOf, BadQuery, FieldComparison, Negation, Node, Text

MOST = 1_000  # characters
DEEPEST = 12  # nesting of parentheses and negations
END = "$END"
ODD = re.compile("[\0\ud800-\udfff]")  # characters that no database stores as text


def parse(query: str, such_as: str = "tool:name") -> Node:
    """Parse a query; errors show `such_as` as an example of a field. Raises BadQuery."""
    if len(query) > MOST:
        raise BadQuery(MOST, f"A query has at most {MOST:,} characters. Shorten it.")
    if odd := ODD.search(query):
        raise BadQuery(odd.start(), "This character cannot be searched for. Remove it.")
    try:
        return reader().parse(query)  # type: ignore[return-value]
    except UnexpectedInput as wrong:
        raise explain_syntax_error(wrong, query, such_as) from None


@cache
def reader() -> Lark:
    grammar = files(__package__).joinpath("query.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=Build())


@v_args(inline=True)
class Build(Transformer[Token, Node]):
    """Builder of nodes from the rules of query.lark."""

    def start(self, node: Node | None = None) -> Node:
        return node or AllOf(())

    def any_of(self, *nodes: Node) -> Node:
        return nodes[0] if len(nodes) == 1 else check_nesting_depth(AnyOf(nodes))

    def all_of(self, *nodes: Node) -> Node:
        return nodes[0] if len(nodes) == 1 else check_nesting_depth(AllOf(nodes))

    def negated(self, node: Node) -> Node:
        return check_nesting_depth(Negation(node))

    def phrase(self, token: Token) -> Node:
        return Text(token[1:-1], True, at=token.start_pos or 0)

    def word(self, token: Token) -> Node:
        return Text(str(token), at=token.start_pos or 0)

    def comparison(self, name: Token, op: Token, value: Token) -> Node:
        said = value[1:-1] if value.type == "PHRASE" else str(value)
        ends = (value.start_pos or 0) + (value.type == "PHRASE")
        return FieldComparison(name.lower(), str(op), said, at=name.start_pos or 0, ends=ends)


def check_nesting_depth(node: Node) -> Node:
    """Return the node. Raises BadQuery if it is nested too deep."""
    if measure_nesting_depth(node) > DEEPEST:
        raise BadQuery(0, f"Parentheses and negations nest at most {DEEPEST} deep. Use fewer.")
    return node


def measure_nesting_depth(node: Node) -> int:
    match node:
        case Negation(inner):
            return 1 + measure_nesting_depth(inner)
        case AllOf(nodes) | AnyOf(nodes):
            return 1 + max(map(measure_nesting_depth, nodes), default=0)
    return 0


def explain_syntax_error(wrong: UnexpectedInput, query: str, such_as: str) -> BadQuery:
    """Return the error in plain words; its position is in the text, or just behind it."""
    end = len(query)
    match wrong:
        case UnexpectedCharacters(pos_in_stream=at):
            if query[at] == '"':
                return BadQuery(at, "Unclosed quotation mark. Add another one after the phrase.")
            return BadQuery(at, f"Unexpected “{query[at]}”.")
        case UnexpectedToken(token=Token(type=kind)) if kind != END:
            at = int(wrong.token.start_pos or 0)
            return BadQuery(at, out_of_place(str(wrong.token), wrong.accepts or set(), such_as))
        case UnexpectedToken() | UnexpectedEOF():
            return BadQuery(end, explain_incomplete_query(query, get_expected_tokens(wrong), such_as))
    return BadQuery(end, "Invalid query.")


def get_expected_tokens(wrong: Any) -> set[str]:
    return set(getattr(wrong, "accepts", None) or getattr(wrong, "expected", None) or ())


def out_of_place(said: str, accepted: set[str], such_as: str) -> str:
    if said == ")":
        opened = "RPAR" in accepted
        return "Empty parentheses. Put a search term in them." if opened else "Unmatched parenthesis. Remove it."
    if "VALUE" in accepted:
        return f"Unexpected “{said}”. Expected a value, such as a word or a number."
    return f"Unexpected “{said}”. Expected a word, a “phrase” or a field such as {such_as}."


def explain_incomplete_query(query: str, accepted: set[str], such_as: str) -> str:
    if "VALUE" in accepted:
        return f"“{query.split()[-1]}” has no value. Add one after it."
    if "RPAR" in accepted:
        return "Unclosed parenthesis. Close it with “)”."
    return f"Incomplete query. Add a word, a “phrase” or a field such as {such_as}."
