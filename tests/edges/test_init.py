"""`tierplan init`: starter files that load, under a name of one's own, over nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main
from optimizer.files import data_path, read_yaml
from optimizer.workload import load_workload
from optimizer.workload.json_schema import json_schema
from optimizer.workload.presets import LONGEST_NAME, NAME, USUAL, presets

PRESETS = sorted(path.stem for path in data_path("workloads").glob("*.yaml"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_starter_is_the_preset_under_another_name(run, preset: str) -> None:
    done = run("init", "hall", "--preset", preset)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "written: hall.yaml\n")
    mine, shipped = load_workload("hall.yaml").workload, load_workload(preset).workload
    assert mine.name == "hall"
    assert mine.model_copy(update={"name": preset}) == shipped


def test_a_starter_keeps_the_comments_and_says_what_to_do(run) -> None:
    run("init", "hall")
    text = Path("hall.yaml").read_text()
    shipped = (data_path("workloads") / f"{USUAL}.yaml").read_text()
    assert text.endswith(shipped.replace(f"name: {USUAL}", "name: hall"))
    assert "tierplan solve hall.yaml" in text.split("schema:")[0]
    assert text.count("#") > 20


def test_every_preset_has_a_line(run) -> None:
    done = run("init", "--preset", "list")
    assert done.exit_code == 0
    assert list(presets()) == PRESETS
    shown = " ".join(done.stdout.split())  # a long line is folded
    for name, line in presets().items():
        assert line
        assert f"{name} {line}" in shown
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("target", "written"),
    [("hall", "hall.yaml"), ("hall.yaml", "hall.yaml"), ("hall.yml", "hall.yml"), ("v1.2", "v1.2.yaml"),
     ("plans/hall", "plans/hall.yaml")],
)  # fmt: skip
def test_where_it_is_written(run, target: str, written: str) -> None:
    Path("plans").mkdir()
    assert run("init", target).exit_code == 0
    assert load_workload(written).workload.name == Path(written).stem


@pytest.mark.parametrize("name", ["2030", "null", "true", "0x10", "1e3", "1.5", "no"])
def test_a_name_is_text_whatever_yaml_makes_of_it(run, name: str) -> None:
    assert run("init", name).exit_code == 0
    assert load_workload(f"./{name}.yaml").workload.name == name


def test_nothing_is_overwritten(run) -> None:
    Path("hall.yaml").write_text("mine\n")
    os.symlink("nowhere.yaml", "link.yaml")
    os.mkfifo("pipe.yaml")
    Path("folder.yaml").mkdir()
    for name in ("hall", "link", "pipe", "folder"):
        done = run("init", name)
        assert done.exit_code == ExitCode.BAD_INPUT
        assert done.stderr == f"error: {name}.yaml: is there already (give another name)\n"
    assert Path("hall.yaml").read_text() == "mine\n"
    assert not Path("nowhere.yaml").exists()


BAD = [
    ("no such folder/hall", "there is no folder no such folder"), ("", "is no name of a workload"),
    ("my hall", '"my hall" is no name of a workload'), ("hall/", "is no name"), (".hidden", "is no name"),
    ("é", "is no name"), ("x" * 61, "is no name"), ("x" * 5_000, "is no name"), ("a\nb", "is no name"),
    ("plans/../..", "is no name"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), BAD, ids=[repr(name)[:20] for name, _ in BAD])
def test_a_bad_name_is_one_message(run, name: str, words: str) -> None:
    done = run("init", name)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert len(done.stderr) < 300
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("preset", "meant"), [("smal", "small"), ("two-direction", "two-directions")])
def test_an_unknown_preset_is_recognised(run, preset: str, meant: str) -> None:
    done = run("init", "hall", "--preset", preset)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr == f'error: there is no preset "{preset}" (did you mean "{meant}"?)\n'
    assert not Path("hall.yaml").exists()


def test_a_preset_is_no_path(run) -> None:
    done = run("init", "hall", "--preset", "../workloads/tiny")
    assert done.exit_code == ExitCode.BAD_INPUT


def test_names_are_those_of_the_schema() -> None:
    stated = json_schema()["properties"]["name"]
    assert stated == {"type": "string", "maxLength": LONGEST_NAME, "pattern": f"^{NAME.pattern}$"}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_describes_itself_in_its_file(preset: str) -> None:
    assert read_yaml(data_path("workloads") / f"{preset}.yaml").data["description"] == presets()[preset]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["small", "tiny"])
def test_a_starter_solves(run, preset: str) -> None:
    run("init", "hall", "--preset", preset)
    done = run("solve", "hall.yaml")
    assert done.exit_code == ExitCode.OK, done.stderr
    assert done.stdout.startswith("hall: ")
