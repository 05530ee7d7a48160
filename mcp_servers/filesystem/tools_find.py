"""Tools that find files: by name, by the words in them, by tag."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache
from itertools import islice

from ..kit import Entity, ToolError
from .parameters import ROWS, AskedKind, Limit, Pattern, TagRef, Under, Words
from .paths import READ, allows, locate_directory, require, within
from .serializers import entries, file_entry, kind_of
from .server import server
from .state import WORD, Disk, Node
from .views import Entries, FileEntry, FilePath

WHOLE_WORD = re.compile(r"(?<![^\W_])(?<![*?])[^\W_]+(?![^\W_]|[*?])")
GAP = r"(?:[^\w\n]|_)+"
SHOWN = 120


class Match(Entity):
    """A line that holds the words: its file, its number from 1 on, its text."""

    __label__ = "the file {name}"
    id: FilePath
    name: str
    line: int
    text: str


@server.read()
def find_files(
    disk: Disk, pattern: Pattern, directory: Under = None, kind: AskedKind = None, limit: Limit = ROWS
) -> Entries:
    """Find files and folders by name, in a folder and all below it."""
    under = searched(disk, directory)
    matches = glob(pattern)
    named = (node for node in candidates(disk, pattern) if node.id != under.id and matches.fullmatch(node.name))
    return entries(list(within(disk, (node for node in named if kind in (None, kind_of(node))), under)), limit)


def searched(disk: Disk, directory: str | None) -> Node:
    """The folder a search begins in."""
    under = locate_directory(disk, directory or ".")
    require(disk, under, READ)
    return under


@lru_cache(maxsize=256)
def glob(pattern: str) -> re.Pattern[str]:
    """A name with wildcards as a regular expression, one that never goes back over what a star took."""
    return re.compile(translate(pattern.replace("[", "[[]")), re.IGNORECASE)


def candidates(disk: Disk, pattern: str) -> Iterable[Node]:
    """The nodes that may match: those that share the rarest whole word of the pattern, if it has one."""
    found = [disk.nodes.where(name_words=word) for word in dict.fromkeys(WHOLE_WORD.findall(pattern.casefold()))]
    return min(found, key=len, default=disk.nodes)


@server.read()
def search_file_contents(disk: Disk, text: Words, directory: Under = None, limit: Limit = ROWS) -> tuple[Match, ...]:
    """Search the contents of text files for words. The first line of each file that holds them is shown."""
    under, words = searched(disk, directory), WORD.findall(text.casefold())
    if not words:
        raise ToolError("no_words", "There is no word or number to search for; name at least one.")
    holding = min((disk.nodes.where(words=word) for word in dict.fromkeys(words)), key=len)
    phrase = re.compile(rf"(?<![^\W_]){GAP.join(words)}(?![^\W_])")
    readable = within(disk, (node for node in holding if allows(disk.shell, node, READ)), under)
    found = ((node, path, line_of(node, phrase)) for node, path in readable)
    matches = (
        Match(id=FilePath(path), name=node.name, line=line[0], text=line[1]) for node, path, line in found if line
    )
    return tuple(islice(matches, limit))


def line_of(node: Node, phrase: re.Pattern[str]) -> tuple[int, str] | None:
    """The number and the beginning of the first line that holds the phrase."""
    text = node.content.casefold()
    found = phrase.search(text)
    if found is None:
        return None
    number = text.count("\n", 0, found.start())
    return number + 1, node.content.split("\n")[number][:SHOWN]


@server.read()
def find_tagged_files(disk: Disk, tag: TagRef, directory: Under = None, limit: Limit = ROWS) -> tuple[FileEntry, ...]:
    """Find files by tag, in a folder and all below it."""
    under, tagged = searched(disk, directory), disk.nodes.where(tags=tag)
    if not tagged:
        raise ToolError("no_such_tag", f"No file has the tag {tag}; get_file_info shows the tags of a file.")
    return tuple(file_entry(node, path) for node, path in islice(within(disk, tagged, under), limit))
