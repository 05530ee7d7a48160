"""What people say in comments: Markdown, with names after an @."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

from .markdown import safe

MENTION = re.compile(r"(?<![\w@./+-])@([\w](?:[\w.@+-]*[\w])?)")
READER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"]).disable("image")


def render(text: str, people: Iterable[str] = ()) -> SafeString:
    """The HTML of a text; names of `people` after an @ are marked."""
    names = {name.lower() for name in people}
    return safe(READER.render(text, {"people": names}))


def mentioned(text: str) -> list[str]:
    """The names after an @, in lower case and as often as they come; none of what stands in code."""
    inline = (child for token in READER.parse(text) for child in token.children or () if child.type == "text")
    return [name.lower() for child in inline for name in MENTION.findall(child.content)]


def text_with_mentions(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """A piece of text as HTML; markdown-it's rule for it."""
    found, end = "", 0
    content = tokens[at].content
    for match in MENTION.finditer(content):
        if match[1].lower() in env.get("people", ()):
            found += f'{escape(content[end : match.start()])}<span class="mention">{escape(match[0])}</span>'
            end = match.end()
    return found + escape(content[end:])


READER.add_render_rule("text", text_with_mentions)
