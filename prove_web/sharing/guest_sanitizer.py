"""Sanitizer of the team's pages for share links: the result performs no action, links nowhere else and names nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

from .share_scope import Reach

# HTML of our own pages as a tree, to be traversed and written back.

VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass
class Text:
    """Text between tags: plain, or with `raw` unchanged markup (comments, scripts)."""

    text: str
    raw: bool = False

    def iter_html(self) -> Iterator[str]:
        yield self.text if self.raw else escape(self.text, quote=False)


@dataclass
class Element:
    """A tag with its attributes, in order, and its children. The root has no tag."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    inside: list[Element | Text] = field(default_factory=list)
    empty: bool = False  # written as <tag/>

    def iter_html(self) -> Iterator[str]:
        if self.tag:
            attributes = "".join(
                f" {name}" if value is None else f' {name}="{escape(value)}"' for name, value in self.attributes.items()
            )
            yield f"<{self.tag}{attributes}{'/' if self.empty else ''}>"
        for each in self.inside:
            yield from each.iter_html()
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
        """Close open elements up to this tag; ignore an end tag without a start tag."""
        for place in range(len(self.open) - 1, 0, -1):
            if self.open[place].tag == tag:
                del self.open[place:]
                return

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(Text(data, raw=self.open[-1].tag in self.CDATA_CONTENT_ELEMENTS))

    def handle_decl(self, decl: str) -> None:
        self.open[-1].inside.append(Text(f"<!{decl}>", raw=True))


def read(html: str) -> Element:
    """Parse a page, without its comments."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.root


def write(root: Element) -> str:
    return "".join(root.iter_html())


LOADS = ("load", "revealed", "intersect")  # triggers of parts that the page requests by itself
SENDS = frozenset({"hx-post", "hx-put", "hx-patch", "hx-delete"})
SPOKEN = ("title", "aria-label", "alt", "value", "placeholder", "content")
STATIC = "/static/"
UNTOLD = frozenset({"job-error"})  # error output of programs
Words = Callable[[str], str]
TEXTS = re.compile(r'(?<!\\)(?:"[a-z_]+"\s*:|("(?:[^"\\]|\\.)*+"))')  # in JSON: a key, or a text
IN_A_SCRIPT = {ord(each): f"\\u{ord(each):04X}" for each in "<>&"}


def page(html: str, reach: Reach, words: Words) -> str:
    """Sanitize a page; `words` removes private words."""
    root = read(html)
    Guest(reach, words).visit(root)
    return write(root)


def data(text: str, reach: Reach, words: Words) -> str:
    """Sanitize JSON: rewrite its URLs for the visitor, and remove private words from its texts.

    Numbers and keys stay unchanged, whatever names people have.
    """
    return TEXTS.sub(lambda found: fit_text(found[1], reach, words) if found[1] else found[0], text)


def fit_text(written: str, reach: Reach, words: Words) -> str:
    r"""Sanitize one JSON text, decoded first, because é may be written as \u00e9."""
    text = json.loads(written, strict=False)
    fitted = reach.address(text) or "" if text.startswith(reach.team) else words(text)
    return written if fitted == text else json.dumps(fitted).translate(IN_A_SCRIPT)


class Guest:
    """Traversal of a page."""

    def __init__(self, reach: Reach, words: Words):
        self.reach, self.words = reach, words

    def visit(self, element: Element, within: bool = False) -> bool:
        """Sanitize an element; return False if the section that it is `within` must be removed."""
        remaining: list[Element | Text] = []
        within = within or element.tag == "section"
        for each in element.inside:
            if isinstance(each, Text):
                each.text = self.render_text(element, each)
                remaining.append(each)
            elif self.acts(each):
                continue
            elif self.out_of_reach(each) or not self.visit(each, within):
                if within and each.tag != "section":
                    return False
            else:
                self.lead(each)
                remaining.append(each)
        element.inside = remaining
        return True

    def render_text(self, element: Element, text: Text) -> str:
        if not text.raw:
            return self.words(text.text)
        return data(text.text, self.reach, self.words) if element.tag == "script" else text.text

    def acts(self, element: Element) -> bool:
        """Return whether an element performs an action, or is a button to a page that the link does not reach."""
        if SENDS & element.attributes.keys() or UNTOLD & element.classes():
            return True
        if element.tag == "form":
            looks = (element.attributes.get("method") or "get").lower() == "get"
            return not looks or self.address(element.attributes.get("action") or "?") is None
        source = element.attributes.get("hx-get")
        leads = element.attributes.get("href") if element.tag == "a" and "btn" in element.classes() else None
        return any(url and self.address(url) is None for url in (source, leads)) and not self.out_of_reach(element)

    def out_of_reach(self, element: Element) -> bool:
        """Return whether an element would load by itself what the link does not reach."""
        url, when = element.attributes.get("hx-get"), element.attributes.get("hx-trigger") or ""
        return bool(url) and self.address(url or "") is None and any(word in when for word in LOADS)

    def lead(self, element: Element) -> None:
        """Rewrite URLs and words in attributes for the visitor; a link to an unreachable page becomes plain text."""
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

    def address(self, url: str) -> str | None:
        if url.startswith((STATIC, "#", "data:image/")):
            return url
        return self.reach.address(url)


def holds_text(name: str, value: str) -> bool:
    """Return whether an attribute holds text rather than a URL."""
    return name in SPOKEN or (name.startswith("data-") and not value.startswith("/"))


def build_redactor(known: Iterable[str], private: re.Pattern[str] | None = None) -> Words:
    """Return a function that removes these whole words, and what the pattern matches."""
    patterns = [private.pattern] if private else []
    if names := "|".join(re.escape(word) for word in sorted(filter(None, known), key=len, reverse=True)):
        patterns.append(rf"(?<!\w)(?:{names})(?!\w)")
    found = re.compile("|".join(patterns)) if patterns else None
    return lambda text: found.sub("…", text) if found else text
