"""result.json: whole or not at all, and read back as it was written."""

from __future__ import annotations

import json
import os

import pytest

from optimizer.errors import InputError
from optimizer.report.files import as_json, prepare, read_result, write_result
from tests.report.fixtures import infeasible, made, without


@pytest.mark.parametrize("make", [made, infeasible, lambda: without("limit")])
def test_round_trip(make, tmp_path):
    result = make()
    path = write_result(result, tmp_path / "new" / "folder")
    assert path.name == "result.json"
    assert read_result(path) == read_result(path.parent) == result
    assert json.loads(path.read_text())["schema"] == "tierplan-result/1"


def test_nothing_is_left_beside_and_the_old_file_is_replaced(tmp_path):
    write_result(made(name="old"), tmp_path)
    write_result(made(name="new"), tmp_path)
    assert os.listdir(tmp_path) == ["result.json"]
    assert read_result(tmp_path).name == "new"


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    write_result(made(name="old"), tmp_path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_result(made(name="new"), tmp_path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["result.json"]
    assert read_result(tmp_path).name == "old"


def test_a_file_in_the_way_of_the_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InputError, match=r"taken.*cannot be written"):
        prepare(tmp_path / "taken")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{]", r":1:2: is not JSON"), ("[" * 100_000, "nested too deeply"),
        ("{}", "is no result of this version"), ("[]", "is no result of this version"),
        ('{"schema": 1}', "is no result of this version"),
    ],
)
def test_what_is_no_result(text, words, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_result(path)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_result(tmp_path / "nothing.json")


def test_json_has_no_bare_infinities():
    assert "Infinity" not in as_json(made())
    assert "NaN" not in as_json(made())
