"""HTML of our own pages as a tree, so that it can be gone through and written again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

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
