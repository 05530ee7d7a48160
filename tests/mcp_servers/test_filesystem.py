"""What the file server does and refuses, checked through its own tools in one small world."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from calling import check_refusals, do, refused, small_worlds

from mcp_servers.core import Session, minute_text
from mcp_servers.filesystem import server
from mcp_servers.filesystem.state import Disk, Node, compute_archive_size
from mcp_servers.shared.people import cast

Files = Session[Disk]


def said(session: Files, file: str) -> str:
    return str(do(session, "read_file", file=file)["text"])


def home_of(session: Files) -> str:
    return session.state.path(session.state.nodes[session.state.shell.home])


def some(session: Files, **wanted: Any) -> tuple[Node, str]:
    """A node of the tree with these fields, and its path."""
    disk = session.state
    for node in disk.nodes:
        if all(getattr(node, name) == value for name, value in wanted.items()) and not disk.is_trashed(node):
            return node, disk.path(node)
    raise LookupError(f"No node has {wanted}.")


def with_node(**wanted: Any) -> tuple[Files, Node, str]:
    """A fresh session of the first small world that has such a node."""
    for session in small_worlds(server):
        try:
            return session, *some(session, **wanted)
        except LookupError:
            continue
    raise LookupError(f"No world has a node with {wanted}.")


def roomy() -> Files:
    """A world in which 25,000 bytes are left of the quota."""
    return next(one for one in small_worlds(server) if one.state.shell.quota - one.state.shell.used > 25_000)


@pytest.fixture
def files() -> Files:
    """A folder `desk` to work in, with a folder and two files of five and of two lines."""
    session = roomy()
    do(session, "create_directory", path="desk")
    do(session, "change_directory", directory="desk")
    do(session, "create_directory", path="drawer")
    do(session, "create_file", path="plan.md", content="# Plan\nbuy paint\nbuy brushes\npaint the wall\nrest")
    do(session, "create_file", path="drawer/key.txt", content="brass key\nsteel key\n")
    return session


def test_a_session_begins_at_home_and_cd_goes_down_up_home_and_back(files: Files) -> None:
    home = home_of(files)
    fresh = server.open(files.state.seed, "small")
    start = do(fresh, "get_working_directory")
    assert start == {"id": home, "name": home.split("/")[-1], "user": files.state.shell.user}
    assert refused(fresh, "change_directory", directory="-") == "no_previous_directory"
    assert do(files, "change_directory", directory="drawer")["id"] == f"{home}/desk/drawer"
    assert do(files, "change_directory", directory="..")["id"] == f"{home}/desk"
    assert do(files, "get_working_directory")["previous"] == f"{home}/desk/drawer"
    assert do(files, "change_directory", directory="~")["id"] == home
    assert do(files, "change_directory", directory="-")["id"] == f"{home}/desk"
    assert do(files, "change_directory", directory="~/desk/./drawer//../drawer/")["name"] == "drawer"
    assert do(files, "change_directory", directory="/")["name"] == "/"
    assert do(files, "change_directory", directory="..")["id"] == "/"


def test_the_previous_directory_may_be_deleted(files: Files) -> None:
    do(files, "change_directory", directory="drawer")
    do(files, "change_directory", directory="..")
    do(files, "delete_directory", directory="drawer", scope="with all contents")
    assert "previous" not in do(files, "get_working_directory")
    assert refused(files, "change_directory", directory="-") == "no_previous_directory"
    do(files, "empty_trash")
    assert refused(files, "change_directory", directory="-") == "no_previous_directory"


def test_a_listing_has_each_kind_apart_in_the_requested_order(files: Files) -> None:
    do(files, "create_archive", directory=".", path="all.zip")
    do(files, "create_file", path="a-long-one.txt", content="x" * 900)
    found = do(files, "list_directory")
    assert [row["name"] for row in found["folders"]] == ["drawer"]
    assert [row["name"] for row in found["files"]] == ["a-long-one.txt", "plan.md"]
    assert found["archives"][0]["id"] == f"{home_of(files)}/desk/all.zip"
    assert "more" not in found
    do(files, "append_to_file", file="plan.md", text="wash up")
    by_size = do(files, "list_directory", sort="size", limit=1)
    assert by_size["files"][0]["name"] == "a-long-one.txt" and by_size["more"] == 1
    assert do(files, "list_directory", sort="modified")["files"][0]["name"] == "plan.md"
    assert do(files, "list_directory", directory="drawer")["files"][0]["id"].endswith("/desk/drawer/key.txt")
    assert do(files, "list_directory", directory="/")["folders"][0]["id"] == "/etc"
    assert refused(files, "list_directory", directory="plan.md") == "not_a_directory"


def test_a_tree_shows_folders_down_to_a_level_with_their_files(files: Files) -> None:
    do(files, "create_directory", path="drawer/box")
    rows = do(files, "show_directory_tree", directory=".", depth=1)
    assert [(row["name"], row["depth"], row["files"]) for row in rows] == [("desk", 0, 1), ("drawer", 1, 1)]
    assert [row["name"] for row in do(files, "show_directory_tree", directory=".")] == ["desk", "drawer", "box"]
    assert len(do(files, "show_directory_tree", directory="/", depth=6, limit=3)) == 3
    do(files, "change_permissions", file="drawer", mode="000")
    rows = do(files, "show_directory_tree", directory=".")
    assert [row.get("files") for row in rows] == [1, None]


def test_files_are_found_by_wildcards_below_the_working_directory(files: Files) -> None:
    def names(pattern: str, **rest: Any) -> list[str]:
        found = do(files, "find_files", pattern=pattern, **rest)
        return sorted(row["name"] for rows in found.values() if isinstance(rows, list) for row in rows)

    assert names("*.md") == names("PLAN*") == names("pla?.md") == names("p**n.m*") == ["plan.md"]
    assert names("key.txt") == names("*.txt") == names("k?y.*") == ["key.txt"]
    assert names("*") == ["drawer", "key.txt", "plan.md"]
    assert names("*", kind="folder") == ["drawer"] and names("*", directory="drawer") == ["key.txt"]
    assert names("plan") == names("*.md", directory="drawer") == names("p?n.md") == []
    assert do(files, "find_files", pattern="*e*", limit=1)["files"][0]["id"].endswith("/desk/drawer/key.txt")
    assert do(files, "find_files", pattern="drawer")["folders"] == [
        {"id": f"{home_of(files)}/desk/drawer", "name": "drawer"}
    ]
    do(files, "delete_file", file="plan.md")
    assert names("*.md") == []
    do(files, "create_file", path="[a]" + "a" * 60, content="")
    assert names("[A]*") == ["[a]" + "a" * 60] and names("*a" * 39 + "*b") == []


def test_contents_are_searched_for_words_that_follow_each_other_in_a_line(files: Files) -> None:
    def hits(text: str, **rest: Any) -> list[tuple[str, int, str]]:
        found = do(files, "search_file_contents", text=text, **rest)
        return [(row["name"], row["line"], row["text"]) for row in found]

    assert hits("Brushes") == [("plan.md", 3, "buy brushes")]
    assert hits("the wall") == hits("paint, the WALL!") == [("plan.md", 4, "paint the wall")]
    assert hits("paint") == [("plan.md", 2, "buy paint")]
    assert hits("brush") == hits("paint buy") == hits("wall rest") == []
    assert [name for name, *_ in hits("key")] == ["key.txt"] and hits("key", limit=1) == [("key.txt", 1, "brass key")]
    assert hits("paint", directory="drawer") == []
    do(files, "write_file", file="plan.md", content="paint_the key")
    assert hits("paint the") == [("plan.md", 1, "paint_the key")] and hits("brushes") == []
    assert len(hits("key", limit=1)) == 1 and len(hits("key")) == 2
    do(files, "change_permissions", file="plan.md", mode="000")
    assert hits("paint the") == []
    assert refused(files, "search_file_contents", text="?!") == "no_words"


def test_searches_stay_out_of_closed_folders(files: Files) -> None:
    do(files, "change_permissions", file="drawer", mode="300")
    assert do(files, "search_file_contents", text="brass key") == []
    assert do(files, "find_files", pattern="key.txt") == {}
    assert said(files, "drawer/key.txt").startswith("brass")
    assert refused(files, "find_files", pattern="*", directory="drawer") == "permission_denied"


def test_tags_are_put_on_found_and_taken_off(files: Files) -> None:
    assert do(files, "tag_file", file="plan.md", tag="zebra")["tags"] == ["zebra"]
    assert do(files, "tag_file", file="plan.md", tag="apple")["tags"] == ["apple", "zebra"]
    assert [row["name"] for row in do(files, "find_tagged_files", tag="zebra")] == ["plan.md"]
    assert do(files, "find_tagged_files", tag="zebra", directory="drawer") == []
    assert refused(files, "tag_file", file="plan.md", tag="zebra") == "already_tagged"
    assert refused(files, "tag_file", file="drawer", tag="zebra") == "is_a_directory"
    do(files, "tag_file", file="drawer/key.txt", tag="zebra")
    assert len(do(files, "find_tagged_files", tag="zebra")) == 2
    assert len(do(files, "find_tagged_files", tag="zebra", limit=1)) == 1
    assert do(files, "untag_file", file="plan.md", tag="zebra")["tags"] == ["apple"]
    assert refused(files, "untag_file", file="plan.md", tag="zebra") == "not_tagged"
    for tag in ("b", "c", "d", "e"):
        do(files, "tag_file", file="plan.md", tag=tag)
    assert refused(files, "tag_file", file="plan.md", tag="f") == "too_many_tags"
    assert refused(files, "find_tagged_files", tag="f") == "no_such_tag"


def test_file_info_tells_all_but_the_contents(files: Files) -> None:
    now = files.state.now
    made = do(files, "append_to_file", file="plan.md", text="wash up")
    do(files, "tag_file", file="plan.md", tag="home")
    user = cast(files.state.seed, 1)[0]
    assert do(files, "get_file_info", file="plan.md") == {
        "id": f"{home_of(files)}/desk/plan.md",
        "name": "plan.md",
        "kind": "file",
        "bytes": made["bytes"],
        "lines": 6,
        "owner": user.name.split()[0].lower(),
        "owner_address": user.id,
        "group": "staff",
        "mode": "644",
        "modified": minute_text(now),
        "tags": ["home"],
        "versions": 1,
    }
    folder = do(files, "get_file_info", file="drawer")
    assert (folder["kind"], folder["bytes"], folder["mode"]) == ("folder", 0, "755") and "lines" not in folder
    root = do(files, "get_file_info", file="/")
    assert (root["name"], root["owner"]) == ("/", "root") and "owner_address" not in root


def test_disk_usage_adds_up_and_names_the_largest(files: Files) -> None:
    plan, key = (do(files, "get_file_info", file=file)["bytes"] for file in ("plan.md", "drawer/key.txt"))
    usage = do(files, "get_disk_usage", directory=".")
    assert (usage["bytes"], usage["files"], usage["folders"]) == (plan + key, 2, 1)
    assert [row["name"] for row in usage["largest"]] == ["plan.md", "key.txt"]
    shell = files.state.shell
    assert (usage["used"], usage["quota"]) == (shell.used, shell.quota)
    do(files, "change_permissions", file="drawer", mode="000")
    assert do(files, "get_disk_usage", directory=".")["bytes"] == plan
    assert refused(files, "get_disk_usage", directory="drawer") == "permission_denied"


def test_copies_have_one_checksum_until_one_is_changed(files: Files) -> None:
    copy = do(files, "copy_file", file="plan.md", directory="drawer", name="copy.md")
    first = do(files, "checksum_file", file="plan.md")
    assert first["sha256"] == sha256(said(files, "plan.md").encode()).hexdigest()[:16]
    assert do(files, "checksum_file", file=copy["id"])["sha256"] == first["sha256"]
    do(files, "append_to_file", file=copy["id"], text="more")
    assert do(files, "checksum_file", file=copy["id"])["sha256"] != first["sha256"]
    archives = [do(files, "create_archive", directory="drawer", path=f"{name}.zip")["id"] for name in "ab"]
    do(files, "append_to_file", file=copy["id"], text="and more")
    archives.append(do(files, "create_archive", directory="drawer", path="c.zip")["id"])
    sums = [do(files, "checksum_file", file=archive)["sha256"] for archive in archives]
    assert sums[0] == sums[1] != sums[2]


def test_files_are_read_in_full_or_from_either_end(files: Files) -> None:
    assert do(files, "read_file", file="plan.md") == {
        "name": "plan.md",
        "lines": 5,
        "text": "# Plan\nbuy paint\nbuy brushes\npaint the wall\nrest\n",
    }
    head = do(files, "read_file_head", file="plan.md", lines=2)
    assert (head["text"], head["lines"]) == ("# Plan\nbuy paint", 5)
    tail = {"name": "plan.md", "lines": 5, "text": "paint the wall\nrest"}
    assert do(files, "read_file_tail", file="plan.md", lines=2) == tail
    assert len(do(files, "read_file_head", file="plan.md")["text"].splitlines()) == 5
    assert refused(files, "read_file", file="drawer") == "is_a_directory"
    do(files, "write_file", file="plan.md", content="x" * 1_499)
    assert len(said(files, "plan.md")) == 1_500
    do(files, "write_file", file="plan.md", content="x" * 1_500)
    assert refused(files, "read_file", file="plan.md") == "file_too_long"
    assert len(do(files, "read_file_tail", file="plan.md")["text"]) == 1_500


def test_what_is_not_text_is_neither_read_nor_written() -> None:
    session = server.open(3, "default")
    _, path = some(session, kind="binary", owner=session.state.shell.user)
    assert refused(session, "read_file", file=path) == "binary_file"
    assert refused(session, "write_file", file=path, content="x") == "binary_file"
    assert do(session, "get_file_info", file=path)["kind"] == "file"
    do(session, "copy_file", file=path, directory="~", name="copy")
    sums = [do(session, "checksum_file", file=file)["sha256"] for file in (path, "~/copy")]
    assert sums[0] == sums[1]
    session, _, path = with_node(kind="archive")
    for tool, rest in (("read_file", {}), ("append_to_file", {"text": "x"}), ("list_file_versions", {})):
        assert refused(session, tool, file=path, **rest) == "binary_file"


def test_two_files_are_compared_line_by_line(files: Files) -> None:
    do(files, "copy_file", file="plan.md", directory="drawer")
    assert do(files, "compare_files", file="plan.md", other="drawer/plan.md") == {"added": 0, "removed": 0}
    do(files, "write_file", file="drawer/plan.md", content="# Plan\n-- buy nothing\n++\nrest")
    found = do(files, "compare_files", file="plan.md", other="drawer/plan.md")
    assert (found["added"], found["removed"]) == (2, 3)
    assert found["changes"][1:] == ["-buy paint", "-buy brushes", "-paint the wall", "+-- buy nothing", "+++"]
    assert refused(files, "compare_files", file="plan.md", other="./plan.md") == "same_file"
    do(files, "write_file", file="plan.md", content="\n".join(map(str, range(400))))
    assert len(do(files, "compare_files", file="plan.md", other="drawer/plan.md")["changes"]) == 20
    do(files, "append_to_file", file="plan.md", text="one more")
    assert refused(files, "compare_files", file="drawer/plan.md", other="plan.md") == "file_too_long"


def test_a_new_file_ends_its_last_line_and_takes_its_place_once(files: Files) -> None:
    made = do(files, "create_file", path="drawer/new.txt", content="tea")
    assert made == {
        "id": f"{home_of(files)}/desk/drawer/new.txt",
        "name": "new.txt",
        "bytes": 4,
        "modified": made["modified"],
    }
    assert said(files, made["id"]) == "tea\n"
    assert do(files, "create_file", path="empty.txt", content="")["bytes"] == 0
    assert refused(files, "create_file", path="drawer/new.txt", content="tea") == "file_exists"
    assert refused(files, "create_file", path="drawer", content="tea") == "file_exists"
    assert refused(files, "create_file", path="nowhere/new.txt", content="tea") == "not_found"
    assert refused(files, "create_file", path="plan.md/new.txt", content="tea") == "not_a_directory"


SYSTEM = ("/etc", "/shared")
NO_NAMES = ("x/", "drawer/..", ".", "a:b", "what?", "*", " a", "a ", "a\tb", "~", "n" * 81)
NO_FOLDERS = [
    ("nowhere", "not_found"),
    ("plan.md", "not_a_directory"),
    ("plan.md/..", "not_a_directory"),
    ("~x", "not_found"),
]


def test_paths_that_lead_nowhere_and_names_that_are_none_are_refused(files: Files) -> None:
    renamed = [name for name in NO_NAMES if "/" not in name]
    system = {"scope": "with all contents"}
    check_refusals(
        files,
        [
            *(("change_directory", {"directory": path}, code) for path, code in NO_FOLDERS),
            *(("create_file", {"path": path, "content": ""}, "invalid_name") for path in NO_NAMES),
            *(("rename_file", {"file": "plan.md", "name": name}, "invalid_name") for name in renamed),
            *(("move_directory", {"directory": at, "target": "."}, "permission_denied") for at in SYSTEM),
            *(("delete_directory", {"directory": at, **system}, "permission_denied") for at in SYSTEM),
        ],
    )


def test_a_name_has_80_characters_and_a_path_400(files: Files) -> None:
    do(files, "rename_file", file="plan.md", name="n" * 80)
    while len(do(files, "get_working_directory")["id"]) < 319:
        do(files, "create_directory", path="d" * 80)
        do(files, "change_directory", directory="d" * 80)
    room = 400 - len(do(files, "get_working_directory")["id"]) - 1
    assert refused(files, "create_file", path="f" * (room + 1), content="") == "path_too_long"
    assert len(do(files, "create_file", path="f" * room, content="")["id"]) == 400


def test_writing_appending_and_replacing_keep_what_was_before(files: Files) -> None:
    do(files, "write_file", file="plan.md", content="a b a")
    do(files, "append_to_file", file="plan.md", text="a c\nd\n")
    assert said(files, "plan.md") == "a b a\na c\nd\n"
    do(files, "replace_in_file", file="plan.md", old="a", new="x")
    assert said(files, "plan.md") == "x b a\na c\nd\n"
    do(files, "replace_in_file", file="plan.md", old="a", new="", which="every")
    assert said(files, "plan.md") == "x b \n c\nd\n"
    assert refused(files, "replace_in_file", file="plan.md", old="a", new="x") == "text_not_found"
    assert refused(files, "replace_in_file", file="plan.md", old="b", new="b") == "text_unchanged"
    rows = do(files, "list_file_versions", file="plan.md")
    assert [(row["number"], row["begins"]) for row in rows] == [(4, "x b a"), (3, "a b a"), (2, "a b a"), (1, "# Plan")]
    for text in ("x b a\na c\nd\n", "a b a\na c\nd\n", "a b a\n"):
        do(files, "undo_file_change", file="plan.md")
        assert said(files, "plan.md") == text
    do(files, "undo_file_change", file="plan.md")
    assert refused(files, "undo_file_change", file="plan.md") == "nothing_to_undo"


def test_five_versions_are_stored_and_one_of_them_can_be_brought_back(files: Files) -> None:
    for number in range(7):
        do(files, "write_file", file="plan.md", content=f"text {number}")
    rows = do(files, "list_file_versions", file="plan.md", limit=9)
    assert [row["number"] for row in rows] == [7, 6, 5, 4, 3] and rows[-1]["begins"] == "text 1"
    assert len(do(files, "list_file_versions", file="plan.md", limit=2)) == 2
    restored = do(files, "restore_file_version", version=rows[2]["id"])
    assert restored["modified"] == minute_text(files.state.now - timedelta(minutes=1))
    assert said(files, "plan.md") == "text 3\n"
    newest = do(files, "list_file_versions", file="plan.md")[0]
    assert (newest["number"], newest["begins"], newest["bytes"]) == (8, "text 6", 7)
    assert refused(files, "restore_file_version", version=rows[-1]["id"]) == "not_found"
    do(files, "delete_file", file="plan.md")
    assert refused(files, "restore_file_version", version=newest["id"]) == "file_deleted"


def test_a_text_file_has_at_most_20_000_bytes(files: Files) -> None:
    do(files, "write_file", file="plan.md", content="x" * 7_999)
    do(files, "append_to_file", file="plan.md", text="x" * 7_999)
    assert refused(files, "append_to_file", file="plan.md", text="x" * 4_000) == "file_too_large"
    assert do(files, "append_to_file", file="plan.md", text="x" * 3_999)["bytes"] == 20_000


def test_files_are_copied_moved_and_renamed_but_never_over_another(files: Files) -> None:
    copy = do(files, "copy_file", file="plan.md", directory="drawer")
    assert copy["id"].endswith("/desk/drawer/plan.md")
    for tool in ("copy_file", "move_file"):
        assert refused(files, tool, file="plan.md", directory="drawer") == "file_exists"
        assert refused(files, tool, file="drawer", directory="~") == "is_a_directory"
        assert refused(files, tool, file="plan.md", directory="drawer/key.txt") == "not_a_directory"
    assert refused(files, "move_file", file="plan.md", directory=".") == "same_place"
    assert refused(files, "rename_file", file="plan.md", name="drawer") == "file_exists"
    renamed = do(files, "rename_file", file="plan.md", name="scheme.md")
    moved = do(files, "move_file", file="scheme.md", directory="drawer")
    assert renamed["name"] == moved["name"] == "scheme.md" and moved["id"].endswith("/drawer/scheme.md")
    assert refused(files, "read_file", file="scheme.md") == "not_found"
    assert said(files, "drawer/scheme.md") == said(files, "drawer/plan.md")


def test_a_deleted_file_goes_to_the_trash_and_back_where_it_was(files: Files) -> None:
    path, text = f"{home_of(files)}/desk/plan.md", said(files, "plan.md")
    item = do(files, "delete_file", file="plan.md")
    assert (item["name"], item["path"]) == ("plan.md", path)
    assert do(files, "list_trash")[0] == item and len(do(files, "list_trash", limit=1)) == 1
    assert refused(files, "delete_file", file="plan.md") == "not_found"
    do(files, "create_file", path="plan.md", content="another")
    assert refused(files, "restore_from_trash", item=item["id"]) == "file_exists"
    assert refused(files, "restore_from_trash", item=item["id"], directory="drawer/key.txt") == "not_a_directory"
    do(files, "rename_file", file="plan.md", name="other.md")
    assert do(files, "restore_from_trash", item=item["id"])["files"][0]["id"] == path
    assert said(files, path) == text
    assert refused(files, "restore_from_trash", item=item["id"]) == "not_found"


def test_what_was_in_a_deleted_folder_needs_another_one(files: Files) -> None:
    item = do(files, "delete_file", file="drawer/key.txt")["id"]
    folder = do(files, "delete_directory", directory="drawer")
    assert folder["bytes"] == 0
    assert refused(files, "restore_from_trash", item=item) == "original_folder_gone"
    assert do(files, "restore_from_trash", item=item, directory=".")["files"][0]["id"].endswith("/desk/key.txt")
    assert do(files, "restore_from_trash", item=folder["id"])["folders"][0]["id"].endswith("/desk/drawer")


def test_emptying_the_trash_is_final_and_frees_the_quota(files: Files) -> None:
    used = files.state.shell.used
    size = do(files, "get_disk_usage", directory="drawer")["bytes"]
    do(files, "append_to_file", file="drawer/key.txt", text="x")
    item = do(files, "delete_directory", directory="drawer", scope="with all contents")
    assert item["bytes"] == size + 2 and files.state.shell.used == used + 2
    trashed = [row for row in files.state.nodes if files.state.is_trashed(row)]
    mine = sum(row.size for row in trashed if row.owner == files.state.shell.user)
    emptied = do(files, "empty_trash")
    assert emptied == {"erased": len(trashed), "used": used + 2 - mine, "quota": files.state.shell.quota}
    assert do(files, "list_trash") == [] and refused(files, "empty_trash") == "trash_empty"
    assert refused(files, "restore_from_trash", item=item["id"]) == "not_found"


def test_the_quota_counts_to_the_byte_and_the_trash_with_it(files: Files) -> None:
    shell = files.state.shell
    rest, number = shell.quota - shell.used, 0
    while rest > 8_000:
        do(files, "create_file", path=f"fill-{number}.txt", content="x" * 7_999)
        rest, number = rest - 8_000, number + 1
    assert refused(files, "create_file", path="last.txt", content="x" * rest) == "quota_exceeded"
    do(files, "create_file", path="last.txt", content="x" * (rest - 1))
    assert files.state.shell.used == shell.quota
    for tool, rest_of in (("append_to_file", {"text": "x"}), ("copy_file", {"directory": "drawer"})):
        assert refused(files, tool, file="last.txt", **rest_of) == "quota_exceeded"
    do(files, "create_directory", path="free")
    do(files, "delete_file", file="last.txt")
    assert refused(files, "create_file", path="last.txt", content="x") == "quota_exceeded"
    do(files, "empty_trash")
    do(files, "create_file", path="last.txt", content="x")


def test_a_folder_is_made_once_in_a_folder_that_is_there(files: Files) -> None:
    assert do(files, "create_directory", path="drawer/box/") == {
        "id": f"{home_of(files)}/desk/drawer/box",
        "name": "box",
    }
    assert refused(files, "create_directory", path="drawer/box") == "file_exists"
    assert refused(files, "create_directory", path="a/b") == "not_found"
    assert refused(files, "create_directory", path="/") == "invalid_name"
    assert do(files, "create_directory", path="/tmp/mine")["id"] == "/tmp/mine"


def test_a_folder_moves_with_all_it_holds_but_not_into_itself(files: Files) -> None:
    do(files, "create_directory", path="drawer/box")
    do(files, "create_directory", path="shelf")
    for target in ("drawer", "drawer/box"):
        assert refused(files, "move_directory", directory="drawer", target=target) == "inside_itself"
    moved = do(files, "move_directory", directory="drawer", target="shelf", name="tray")
    assert moved == {"id": f"{home_of(files)}/desk/shelf/tray", "name": "tray"}
    assert said(files, "shelf/tray/key.txt") == "brass key\nsteel key\n"
    assert refused(files, "move_directory", directory="shelf/tray", target="shelf") == "file_exists"
    assert refused(files, "move_directory", directory="plan.md", target="shelf") == "not_a_directory"
    assert refused(files, "move_directory", directory="/", target="shelf") == "permission_denied"
    assert do(files, "move_directory", directory="shelf/tray", target=".")["id"].endswith("/desk/tray")


def test_nobody_saws_off_the_branch_one_sits_on(files: Files) -> None:
    do(files, "change_directory", directory="drawer")
    for folder in (".", "..", "../../desk"):
        assert refused(files, "move_directory", directory=folder, target="/tmp") == "directory_in_use"
        assert refused(files, "delete_directory", directory=folder, scope="with all contents") == "directory_in_use"
    do(files, "change_directory", directory="/tmp")
    do(files, "move_directory", directory="~/desk", target="/tmp")
    do(files, "change_directory", directory="desk/drawer")
    assert do(files, "get_working_directory")["id"] == "/tmp/desk/drawer"


def test_a_folder_is_deleted_when_empty_or_when_all_in_it_may_go(files: Files) -> None:
    assert refused(files, "delete_directory", directory="drawer") == "directory_not_empty"
    assert refused(files, "delete_directory", directory="plan.md") == "not_a_directory"
    do(files, "lock_file", file="drawer/key.txt")
    everything = {"directory": "drawer", "scope": "with all contents"}
    assert refused(files, "delete_directory", **everything) == "file_locked"
    do(files, "unlock_file", file="drawer/key.txt")
    do(files, "change_permissions", file="drawer", mode="555")
    assert refused(files, "delete_directory", **everything) == "permission_denied"
    do(files, "change_permissions", file="drawer", mode="755")
    item = do(files, "delete_directory", **everything)
    do(files, "restore_from_trash", item=item["id"])
    assert said(files, "drawer/key.txt") == "brass key\nsteel key\n"


def test_a_link_stands_for_its_target_until_that_is_gone(files: Files) -> None:
    link = do(files, "create_link", target="drawer/key.txt", path="/tmp/short")
    assert link == {"id": "/tmp/short", "name": "short", "leads_to": f"{home_of(files)}/desk/drawer/key.txt"}
    assert said(files, "/tmp/short") == said(files, "drawer/key.txt")
    do(files, "create_link", target="drawer", path="room")
    assert said(files, "room/key.txt") == said(files, "drawer/key.txt")
    assert do(files, "change_directory", directory="room")["name"] == "drawer"
    do(files, "change_directory", directory="..")
    info = do(files, "get_file_info", file="/tmp/short")
    assert (info["kind"], info["broken"], info["bytes"]) == ("link", False, len(link["leads_to"]))
    do(files, "append_to_file", file="/tmp/short", text="gold key")
    assert said(files, "drawer/key.txt").endswith("gold key\n")
    do(files, "move_file", file="/tmp/short", directory=".")
    do(files, "rename_file", file="drawer/key.txt", name="keys.txt")
    assert refused(files, "read_file", file="short") == "dangling_link"
    assert do(files, "get_file_info", file="short")["broken"] is True
    assert refused(files, "create_file", path="short", content="") == "file_exists"
    do(files, "delete_file", file="short")
    assert said(files, "drawer/keys.txt").endswith("gold key\n")
    assert refused(files, "create_link", target="drawer/key.txt", path="again") == "not_found"
    assert refused(files, "move_directory", directory="room", target="drawer") == "not_a_directory"
    assert refused(files, "read_file", file="room/no.txt") == "not_found"


def test_links_in_a_circle_lead_nowhere_and_eight_in_a_row_do(files: Files) -> None:
    do(files, "create_link", target="plan.md", path="l1")
    for number in range(1, 9):
        do(files, "create_link", target=f"l{number}", path=f"l{number + 1}")
    assert said(files, "l8") == said(files, "plan.md")
    assert refused(files, "read_file", file="l9") == "too_many_links"
    do(files, "delete_file", file="plan.md")
    assert refused(files, "read_file", file="l8") == "dangling_link"
    do(files, "create_link", target="l1", path="plan.md")
    assert refused(files, "read_file", file="plan.md") == "too_many_links"
    assert do(files, "get_file_info", file="plan.md")["broken"] is True


def test_a_folder_is_packed_looked_into_and_extracted_as_it_was(files: Files) -> None:
    do(files, "create_directory", path="drawer/box")
    do(files, "create_file", path="drawer/box/ring.txt", content="gold")
    do(files, "create_link", target="plan.md", path="drawer/link")
    made = do(files, "create_archive", directory="drawer", path="drawer.zip")
    node, _ = some(files, name="drawer.zip")
    assert made["name"] == "drawer.zip" and (made["files"], made["bytes"]) == (
        2,
        compute_archive_size(node.members),
    ) == (
        2,
        22 + 60 + 5 // 3 + 20 // 3,
    )
    rows = [{"path": "box/ring.txt", "bytes": 5}, {"path": "key.txt", "bytes": 20}]
    assert do(files, "list_archive", archive="drawer.zip") == rows
    assert do(files, "list_archive", archive="drawer.zip", limit=1) == rows[:1]
    out = do(files, "extract_archive", archive="drawer.zip", directory="/tmp")
    assert out == {"id": "/tmp/drawer", "name": "drawer", "files": 2}
    assert said(files, "/tmp/drawer/box/ring.txt") == "gold\n"
    assert said(files, "/tmp/drawer/key.txt") == said(files, "drawer/key.txt")
    assert refused(files, "extract_archive", archive="drawer.zip", directory="/tmp") == "file_exists"
    assert refused(files, "extract_archive", archive="plan.md", directory="/tmp") == "not_an_archive"
    assert refused(files, "list_archive", archive="drawer") == "is_a_directory"


def test_an_archive_ends_in_zip_is_not_written_over_and_has_up_to_40_files(files: Files) -> None:
    for path in ("a.tar", ".zip", "drawer/.zip"):
        assert refused(files, "create_archive", directory="drawer", path=path) == "invalid_name"
    do(files, "create_archive", directory="drawer", path="a.zip")
    assert refused(files, "create_archive", directory="drawer", path="a.zip") == "archive_exists"
    assert refused(files, "create_archive", directory="drawer", path="no/a.zip") == "not_found"
    do(files, "create_directory", path="many")
    assert refused(files, "create_archive", directory="many", path="b.zip") == "nothing_to_archive"
    for number in range(40):
        do(files, "create_file", path=f"many/{number}.txt", content="")
    assert do(files, "create_archive", directory="many", path="b.zip")["files"] == 40
    do(files, "create_file", path="many/40.txt", content="")
    assert refused(files, "create_archive", directory="many", path="c.zip") == "too_many_files"
    do(files, "change_permissions", file="drawer/key.txt", mode="000")
    assert refused(files, "create_archive", directory="drawer", path="c.zip") == "permission_denied"
    do(files, "change_permissions", file="drawer", mode="444")
    assert refused(files, "create_archive", directory="drawer", path="c.zip") == "permission_denied"


@pytest.mark.parametrize(
    ("mode", "tool", "rest", "allowed"),
    [
        ("400", "read_file", {}, True),
        ("244", "read_file", {}, False),
        ("044", "checksum_file", {}, False),
        ("044", "copy_file", {"directory": "/tmp"}, False),
        ("200", "append_to_file", {"text": "x"}, True),
        ("466", "append_to_file", {"text": "x"}, False),
        ("400", "lock_file", {}, False),
        ("400", "tag_file", {"tag": "x"}, False),
        ("000", "rename_file", {"name": "x"}, True),
        ("000", "delete_file", {}, True),
    ],
)
def test_the_owners_bits_say_what_one_may_do_with_a_file(
    files: Files, mode: str, tool: str, rest: dict[str, str], allowed: bool
) -> None:
    assert do(files, "change_permissions", file="drawer/key.txt", mode=mode)["mode"] == mode
    reply = files.call(tool, {"file": "drawer/key.txt", **rest})
    assert reply.ok == allowed and (allowed or reply.data["error"] == "permission_denied")


@pytest.mark.parametrize(
    ("mode", "lists", "reads", "adds"),
    [("700", True, True, True), ("500", True, True, False), ("100", False, True, False), ("600", True, False, False)],
)
def test_the_bits_of_a_folder_say_whether_it_is_listed_entered_and_changed(
    files: Files, mode: str, lists: bool, reads: bool, adds: bool
) -> None:
    do(files, "change_permissions", file="drawer", mode=mode)
    assert files.call("list_directory", {"directory": "drawer"}).ok == lists
    assert files.call("read_file", {"file": "drawer/key.txt"}).ok == reads
    assert files.call("change_directory", {"directory": "drawer"}).ok == reads
    do(files, "change_directory", directory="~/desk")
    assert files.call("move_file", {"file": "plan.md", "directory": "drawer"}).ok == adds
    assert files.call("delete_file", {"file": "drawer/key.txt"}).ok == adds


def test_an_archive_is_looked_into_only_by_those_who_may_read_it(files: Files) -> None:
    made = do(files, "create_archive", directory="drawer", path="a.zip")
    assert do(files, "list_directory")["archives"] == [{key: made[key] for key in ("id", "name", "bytes")}]
    do(files, "change_permissions", file="a.zip", mode="200")
    assert refused(files, "list_archive", archive="a.zip") == "permission_denied"
    assert refused(files, "extract_archive", archive="a.zip", directory="/tmp") == "permission_denied"


@pytest.mark.parametrize("mode", ["100", "400"])
def test_a_tree_and_its_size_leave_out_what_is_not_both_readable_and_open(files: Files, mode: str) -> None:
    do(files, "change_permissions", file="drawer", mode=mode)
    assert [row.get("files") for row in do(files, "show_directory_tree", directory=".")] == [1, None]
    assert do(files, "get_disk_usage", directory=".")["files"] == 1
    assert do(files, "find_files", pattern="key.txt") == {}
    if mode == "100":
        assert refused(files, "show_directory_tree", directory="drawer") == "permission_denied"


def test_what_belongs_to_others_is_guarded_by_group_and_other_bits() -> None:
    session, hosts, path = with_node(owner="root", name="system.log")
    assert do(session, "read_file_head", file=path)["name"] == hosts.name
    assert refused(session, "append_to_file", file=path, text="x") == "permission_denied"
    assert refused(session, "delete_file", file=path) == "permission_denied"
    assert refused(session, "change_permissions", file=path, mode="777") == "not_owner"
    assert refused(session, "create_file", path="/etc/mine.ini", content="") == "permission_denied"
    session, closed, path = with_node(kind="directory", mode=0o700)
    assert closed.owner != session.state.shell.user
    assert refused(session, "list_directory", directory=path) == "permission_denied"
    assert refused(session, "change_directory", directory=path) == "permission_denied"
    session, _, path = with_node(kind="file", mode=0o664, locked_by=None)
    assert session.state.nodes.where(place="None/")
    before = session.state.shell.used
    assert do(session, "append_to_file", file=path, text="a line of ours")["name"]
    assert session.state.shell.used == before, "what others own is not counted"


def test_a_locked_file_stays_as_and_where_it_is_until_it_is_unlocked(files: Files) -> None:
    user = files.state.shell.user
    assert do(files, "lock_file", file="plan.md")["locked_by"] == user
    assert refused(files, "lock_file", file="plan.md") == "already_locked"
    for tool, rest in (
        ("write_file", {"content": "x"}),
        ("append_to_file", {"text": "x"}),
        ("replace_in_file", {"old": "buy", "new": "sell"}),
        ("undo_file_change", {}),
        ("move_file", {"directory": "drawer"}),
        ("rename_file", {"name": "x"}),
        ("delete_file", {}),
    ):
        assert refused(files, tool, file="plan.md", **rest) == "file_locked"
    do(files, "copy_file", file="plan.md", directory="drawer")
    assert do(files, "list_directory")["files"][0]["locked_by"] == user
    assert "locked_by" not in do(files, "unlock_file", file="plan.md")
    assert refused(files, "unlock_file", file="plan.md") == "not_locked"
    assert "locked_by" not in do(files, "list_directory", directory="drawer")["files"][1]
    do(files, "delete_file", file="plan.md")


def test_the_lock_of_somebody_else_is_theirs() -> None:
    for session in small_worlds(server):
        user = session.state.shell.user
        for node in session.state.nodes:
            if node.locked_by not in (None, user):
                path = session.state.path(node)
                if session.call("read_file_head", {"file": path}).ok:
                    assert refused(session, "unlock_file", file=path) == "not_lock_holder"
                    return
    raise LookupError("No world has a file that somebody else has locked.")


@pytest.mark.parametrize("seed", [*range(6), 1_000_000_000])
def test_every_world_has_something_of_each_kind(seed: int) -> None:
    session = server.open(seed, "small")
    disk = session.state
    home = do(session, "list_directory", limit=50)
    assert len(home["files"]) >= 6 and len(home["folders"]) >= 4
    assert do(session, "find_files", pattern="*.zip")["archives"]
    links = do(session, "find_files", pattern="*", kind="link", limit=50)["files"]
    infos = [do(session, "get_file_info", file=row["id"]) for row in links]
    assert sorted(info["broken"] for info in infos) == [False, False, True, True, True]
    codes = [session.call("get_disk_usage", {"directory": row["id"]}).data.get("error") for row in links]
    assert {"dangling_link", "too_many_links", None} <= set(codes)
    assert any(row.locked_by == disk.shell.user for row in disk.nodes)
    assert len(disk.versions) > 4 and len(disk.trash) == 3


def test_a_search_in_a_large_world_looks_at_few_files() -> None:
    session = server.open(3, "large")
    tagged = do(session, "find_files", pattern="budget-report*", limit=50)
    assert all(row["name"].startswith("budget-report") for row in tagged["files"])
    found = do(session, "search_file_contents", text="next review", limit=50)
    assert len(found) == 50 and all("next review" in row["text"].casefold() for row in found)
    assert do(session, "search_file_contents", text="zyzzyva") == []
