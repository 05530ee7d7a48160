"""A page of the team as somebody sees it who only has a link: it does nothing, leads nowhere else and names nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from .share_scope import Reach

# HTML of our own pages as a tree, so that it can be gone through and written again.

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass
class Text:
    """Characters between tags: plain ones, or with `raw` as they stand in the page (comments, scripts)."""

    text: str
    raw: bool = False

    def written(self) -> Iterator[str]:
        yield self.text if self.raw else escape(self.text, quote=False)


@dataclass
class Element:
    """A tag with its attributes, in order, and what is in it. The root has no tag."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    inside: list[Element | Text] = field(default_factory=list)
    empty: bool = False  # written as <tag/>

    def written(self) -> Iterator[str]:
        if self.tag:
            told = "".join(
                f" {name}" if value is None else f' {name}="{escape(value)}"' for name, value in self.attributes.items()
            )
            yield f"<{self.tag}{told}{'/' if self.empty else ''}>"
        for each in self.inside:
            yield from each.written()
        if self.tag and not self.empty and self.tag not in VOID:
            yield f"</{self.tag}>"

    def classes(self) -> set[str]:
        return {*(self.attributes.get("class") or "").split()}


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs))
        self.open[-1].inside.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, dict(attrs), empty=tag not in VOID))

    def handle_endtag(self, tag: str) -> None:
        """Closes what is open up to this tag; an end without a beginning is left out."""
        for place in range(len(self.open) - 1, 0, -1):
            if self.open[place].tag == tag:
                del self.open[place:]
                return

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(Text(data, raw=self.open[-1].tag in self.CDATA_CONTENT_ELEMENTS))

    def handle_decl(self, decl: str) -> None:
        self.open[-1].inside.append(Text(f"<!{decl}>", raw=True))


def read(html: str) -> Element:
    """The page; comments are left out."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.root


def write(root: Element) -> str:
    return "".join(root.written())


LOADS = ("load", "revealed", "intersect")  # a part that the page asks for by itself
SENDS = frozenset({"hx-post", "hx-put", "hx-patch", "hx-delete"})
SPOKEN = ("title", "aria-label", "alt", "value", "placeholder", "content")
STATIC = "/static/"
UNTOLD = frozenset({"job-error"})  # what a program said when it failed
Words = Callable[[str], str]
TEXTS = re.compile(r'(?<!\\)(?:"[a-z_]+"\s*:|("(?:[^"\\]|\\.)*+"))')  # of JSON: what a value is called, or a text
IN_A_SCRIPT = {ord(each): f"\\u{ord(each):04X}" for each in "<>&"}


def page(html: str, reach: Reach, words: Words) -> str:
    """The page, of which `words` leaves out what must not be told."""
    root = read(html)
    Guest(reach, words).visit(root)
    return write(root)


def data(text: str, reach: Reach, words: Words) -> str:
    """JSON with the addresses in it as the visitor has them, and without those words in its texts.

    Numbers, and what values are called, stay as they are, whatever people are called.
    """
    return TEXTS.sub(lambda found: fit_text(found[1], reach, words) if found[1] else found[0], text)


def fit_text(written: str, reach: Reach, words: Words) -> str:
    r"""One text as JSON writes it, read before it is gone through: é may be written as \u00e9."""
    text = json.loads(written, strict=False)
    fitted = reach.address(text) or "" if text.startswith(reach.team) else words(text)
    return written if fitted == text else json.dumps(fitted).translate(IN_A_SCRIPT)


class Guest:
    """Goes through a page once."""

    def __init__(self, reach: Reach, words: Words):
        self.reach, self.words = reach, words

    def visit(self, element: Element, within: bool = False) -> bool:
        """Make of an element what a visitor gets of it; False when the section that it is `within` is to go."""
        kept: list[Element | Text] = []
        within = within or element.tag == "section"
        for each in element.inside:
            if isinstance(each, Text):
                each.text = self.render_text(element, each)
                kept.append(each)
            elif self.acts(each):
                continue
            elif self.out_of_reach(each) or not self.visit(each, within):
                if within and each.tag != "section":
                    return False
            else:
                self.lead(each)
                kept.append(each)
        element.inside = kept
        return True

    def render_text(self, element: Element, text: Text) -> str:
        if not text.raw:
            return self.words(text.text)
        return data(text.text, self.reach, self.words) if element.tag == "script" else text.text

    def acts(self, element: Element) -> bool:
        """Whether it does something, or is a button that leads to where a visitor may not go."""
        if SENDS & element.attributes.keys() or UNTOLD & element.classes():
            return True
        if element.tag == "form":
            looks = (element.attributes.get("method") or "get").lower() == "get"
            return not looks or self.address(element.attributes.get("action") or "?") is None
        asked = element.attributes.get("hx-get")
        leads = element.attributes.get("href") if element.tag == "a" and "btn" in element.classes() else None
        return any(told and self.address(told) is None for told in (asked, leads)) and not self.out_of_reach(element)

    def out_of_reach(self, element: Element) -> bool:
        """Whether it would load by itself what a visitor may not have."""
        told, when = element.attributes.get("hx-get"), element.attributes.get("hx-trigger") or ""
        return bool(told) and self.address(told or "") is None and any(word in when for word in LOADS)

    def lead(self, element: Element) -> None:
        """Addresses as the visitor has them, words as they may read them; a link to nowhere becomes plain text."""
        for name, value in list(element.attributes.items()):
            if value and holds_text(name, value):
                element.attributes[name] = self.words(value)
            elif value and (value.startswith("/") or name in ("href", "src", "action")):
                where = self.address(value)
                if where is None:
                    del element.attributes[name]
                else:
                    element.attributes[name] = where
            elif value and name.startswith("data-"):
                element.attributes[name] = self.words(value)
        if element.tag == "a" and "href" not in element.attributes:
            element.tag = "span"

    def address(self, told: str) -> str | None:
        if told.startswith((STATIC, "#", "data:image/")):
            return told
        return self.reach.address(told)


def holds_text(name: str, value: str) -> bool:
    """Whether an attribute holds words rather than an address."""
    return name in SPOKEN or (name.startswith("data-") and not value.startswith("/"))


def without(known: Iterable[str], private: re.Pattern[str] | None = None) -> Words:
    """Leave out whole words that are known, and what the pattern finds."""
    patterns = [private.pattern] if private else []
    if names := "|".join(re.escape(word) for word in sorted(filter(None, known), key=len, reverse=True)):
        patterns.append(rf"(?<!\w)(?:{names})(?!\w)")
    found = re.compile("|".join(patterns)) if patterns else None
    return lambda text: found.sub("…", text) if found else text
