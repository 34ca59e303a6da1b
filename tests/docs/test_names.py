"""What the docs name is there: files, modules, names in the code, other pages, floors and sections."""

from __future__ import annotations

import importlib
import re

import pytest

from optimizer.formulation import LAWS
from tests.structure.test_floors import FLOOR, FLOORS, PACKAGE

from .markdown import PAGES, ROOT, blocks, page, prose, quoted, section, table

TOP = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
NOTICES = [ROOT / "models" / "NOTICE.md", ROOT / "workloads" / "NOTICE.md"]
TEXTS = {path: prose(path.read_text(encoding="utf-8")) for path in [*PAGES, *NOTICES, ROOT / "README.md"]}
NAMED = [(path, word) for path, text in TEXTS.items() for word in dict.fromkeys(quoted(text))]
ROOMS = set(FLOOR)
BUILT = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_")}
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
CITED = sorted(
    (str(path.relative_to(ROOT)), number)
    for path in PACKAGE.rglob("*.py")
    for number in re.findall(r"physics\.md (?:§|section )(\d+)", path.read_text(encoding="utf-8"))
)


def paths() -> list[tuple[str, str]]:
    """(page, path) of every word in backticks that looks like a file or folder of ours."""
    found = []
    for path, word in NAMED:
        if re.fullmatch(r"[\w./*-]+", word) and word.split("/")[0] in TOP and not re.search(r"[<*]", word):
            found.append((path.name, word))
        elif re.fullmatch(r"[a-z-]+\.md", word):
            found.append((path.name, f"docs/{word}"))
    return found


@pytest.mark.parametrize(("where", "name"), paths(), ids=lambda value: value)
def test_a_file_that_is_named_is_there(where: str, name: str):
    assert (ROOT / name).exists()


def picture(start: str) -> str:
    """The one picture of docs/architecture.md that begins so."""
    (found,) = [b.text for b in blocks(ROOT / "docs" / "architecture.md") if b.text.startswith(start)]
    return found


def test_the_functions_of_the_flow_are_there():
    """`room.name` in a picture: what the room hands to others under that name."""
    flow = picture(" workload.yaml")
    found = re.findall(r"\b(\w+)\.(?!yaml|json)(\w+)\b", flow)
    named = [(room, name) for room, name in found if room in ROOMS]
    assert len(named) >= 5
    for room, name in named:
        handed = importlib.import_module(f"optimizer.{room}")
        assert hasattr(handed, name) or importlib.import_module(f"optimizer.{room}.{name}")


@pytest.mark.parametrize("where", ["architecture.md", "physics.md", "reuse.md"])
def test_a_name_of_the_code_is_one(where: str):
    """Words in backticks that look like identifiers occur in the package, its rows, its data or its tests."""
    known = set(re.findall(r"\w+", SOURCE)) | {law.row for law in LAWS}
    known |= {path.stem for path in (ROOT / "tests").rglob("*") if path.suffix == ".py"}
    known |= set(
        re.findall(r"\w+", "\n".join(path.read_text() for path in (ROOT / "models").rglob("*.yaml")))
    )
    words = {
        word
        for quote in quoted(TEXTS[ROOT / "docs" / where])
        if re.fullmatch(r"[A-Za-z_]\w+(?:\.\w+)?", quote) and quote.split(".")[-1] not in ("md", "py", "yaml")
        for word in quote.split(".")
    }
    assert words
    assert words - known == set()


def test_links_between_pages_lead_somewhere():
    broken = [
        (path.name, target)
        for path, text in TEXTS.items()
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
        if not (path.parent / target).exists()
    ]
    assert broken == []


def test_floors_stand_as_the_picture_shows_them():
    """The picture names every room of the test of imports on its floor; rooms in brackets are reserved."""
    house = picture(" floor")
    shown: dict[int, set[str]] = {}
    floor = 0
    for line in house.splitlines()[1:]:
        if number := re.match(r" +(\d+) ", line):
            floor = int(number[1])
        words = set(re.findall(r"(?:^|\s)\(?(\w+)\)?(?=\s{2})", line))
        shown[floor] = shown.get(floor, set()) | (words & ROOMS)
    assert [shown[floor] for floor in range(len(FLOORS))] == [set(rooms) for rooms in FLOORS]
    reserved = set(re.findall(r"\((\w+)\)", house))
    assert ROOMS - reserved == BUILT


def test_every_room_is_explained():
    rows = table(section(page("architecture.md"), "What each room"), "room")
    explained = [quoted(row[0])[0] for row in rows]
    assert set(explained) == BUILT
    assert sorted(explained, key=FLOOR.__getitem__) == explained


@pytest.mark.parametrize(("module", "number"), CITED or [("none", "1")], ids=lambda value: value)
def test_a_section_of_the_physics_that_code_cites_is_there(module: str, number: str):
    assert section(page("physics.md"), f"{number}. ")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_path_of_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:work|home|root|tmp|Users|mnt|opt)/", text)
