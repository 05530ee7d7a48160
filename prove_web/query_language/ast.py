"""Syntax tree of a query, and its text."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """Error in a query: `at` is the position of its first character, from 0."""

    at: int
    message: str

    def split_query(self, query: str) -> tuple[str, str, str]:
        """Return the query before the position, the character there (a space at the end), and the rest."""
        return query[: self.at], query[self.at : self.at + 1] or " ", query[self.at + 1 :]


class BadQuery(Exception):
    """Error of an invalid query; its `fault` says where it is and what is valid there."""

    def __init__(self, at: int, message: str):
        super().__init__(message)
        self.fault = Fault(at, message)


@dataclass(frozen=True)
class Text:
    """Words that must occur, as a phrase if there are several. `at` is the position of the first character."""

    text: str
    quoted: bool = False
    at: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class FieldComparison:
    """A field compared with a value, such as `steps>3`; `at` and `ends` are the positions of both."""

    field: str
    op: str
    value: str
    at: int = dataclasses.field(default=0, compare=False)
    ends: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True)
class Negation:
    node: Node


@dataclass(frozen=True)
class AllOf:
    """All of the nodes; without nodes, everything."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one of the nodes."""

    nodes: tuple[Node, ...]


Node = Text | FieldComparison | Negation | AllOf | AnyOf


def format_query(node: Node) -> str:
    """Return the text of a tree."""
    match node:
        case Text(text, quoted):
            return f'"{text}"' if quoted else text
        case FieldComparison(name, op, value):
            return f"{name}{op}{quote_value(value)}"
        case Negation(inner):
            return f"-{add_parentheses(inner)}"
        case AllOf(nodes):
            return " ".join(
                format_query(one) if isinstance(one, Text | FieldComparison | Negation) else f"({format_query(one)})"
                for one in nodes
            )
        case AnyOf(nodes):
            return " OR ".join(
                f"({format_query(one)})" if isinstance(one, AnyOf) else format_query(one) for one in nodes
            )


def add_parentheses(node: Node) -> str:
    return format_query(node) if isinstance(node, Text | FieldComparison | Negation) else f"({format_query(node)})"


def quote_value(value: str) -> str:
    """Return a value, quoted if it would not be parsed as a value otherwise."""
    return value if value and not any(one.isspace() or one in "()" for one in value) else f'"{value}"'
