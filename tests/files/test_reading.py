"""What may be opened: regular UTF-8 files of a sane size, and everything else refused with a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from optimizer.errors import InputError
from optimizer.files import data_path, read_yaml, resolve_workload
from optimizer.files.reader import LARGEST


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(path: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    assert len(caught.value.problems) == 1
    return str(caught.value)


def test_a_file_is_read_with_or_without_a_byte_order_mark_and_in_either_line_ending() -> None:
    Path("a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = read_yaml("a.yaml")
    assert document.data == {"a": 1, "b": 2}
    assert document.where(("b",)) == "a.yaml:2:1"


def test_a_path_below_the_working_directory_is_shown_from_there(tmp_path: Path) -> None:
    Path("a.yaml").write_text("a: 1\n")
    assert read_yaml(tmp_path / "a.yaml").name == "a.yaml"


def test_a_missing_file_names_its_neighbour() -> None:
    Path("traffic.yaml").write_text("a: 1\n")
    assert refusal("trafic.yaml") == 'trafic.yaml: there is no such file (did you mean "traffic.yaml"?)'


def test_a_missing_folder_is_named() -> None:
    assert refusal("nowhere/a.yaml") == "nowhere/a.yaml: there is no such file (there is no folder nowhere)"


def test_a_path_through_a_file() -> None:
    Path("a.yaml").write_text("a: 1\n")
    assert refusal("a.yaml/b") == (
        "a.yaml/b: there is no such file (a part of the path is a file, not a folder)"
    )


def test_a_folder_names_what_it_holds() -> None:
    Path("folder").mkdir()
    assert refusal("folder") == "folder: is a folder, not a file"
    Path("folder/a.yaml").write_text("a: 1\n")
    assert refusal("folder") == "folder: is a folder, not a file (it holds a.yaml)"


def test_a_loop_of_links() -> None:
    os.symlink("b", "a")
    os.symlink("a", "b")
    assert refusal("a") == "a: is a loop of symbolic links (point the link at a file)"


def test_a_loop_of_links_is_no_missing_workload() -> None:
    os.symlink("b", "a")
    os.symlink("a", "b")
    assert resolve_workload("a") == Path("a")


def test_a_device_is_not_read() -> None:
    assert refusal("/dev/zero") == "/dev/zero: is not a regular file (give a file of text)"


def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("pipe")
    assert refusal("pipe") == "pipe: is not a regular file (give a file of text)"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission() -> None:
    Path("a.yaml").write_text("a: 1\n")
    Path("a.yaml").chmod(0)
    assert refusal("a.yaml") == "a.yaml: may not be read (check its permissions)"


def test_names_that_are_none() -> None:
    assert refusal("a\0b") == "a\\0b: is not a file name"
    assert refusal("a" * 300).endswith(": is too long for a file name")


def test_bytes_that_are_no_text() -> None:
    Path("a.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    assert refusal("a.yaml") == "a.yaml:2:4: is not UTF-8 text (save it as plain UTF-8)"
    Path("a.yaml").write_bytes("a: 1\n".encode("utf-16"))
    assert refusal("a.yaml") == "a.yaml:1:1: is not UTF-8 text (save it as plain UTF-8)"
    Path("a.yaml").write_bytes(b"PK\x03\x04")
    assert refusal("a.yaml") == "a.yaml:1:3: control character 0x03: not a text file (save it as plain UTF-8)"


def test_a_file_too_large() -> None:
    Path("a.yaml").write_bytes(b"#" * (LARGEST + 1))
    assert refusal("a.yaml") == "a.yaml: has 1,000,001 bytes, more than 1,000,000 (split it)"


def test_shipped_folders_exist() -> None:
    assert (data_path("workloads") / "two-directions.yaml").is_file()
    assert (data_path("models") / "llms").is_dir()


NAMES = ["tiny", "tiny.yaml", "workloads/tiny", "workloads/tiny.yaml", "./workloads/tiny.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_workload_is_found_by_name(name: str) -> None:
    assert resolve_workload(name) == data_path("workloads") / "tiny.yaml"


def test_an_own_file_goes_before_a_shipped_name() -> None:
    Path("workloads").mkdir()
    Path("workloads/tiny.yaml").write_text("a: 1\n")
    assert resolve_workload("workloads/tiny.yaml") == Path("workloads/tiny.yaml")
    assert resolve_workload("tiny") == data_path("workloads") / "tiny.yaml"


def test_a_folder_of_a_shipped_name_does_not_hide_it() -> None:
    Path("tiny").mkdir()
    assert resolve_workload("tiny") == data_path("workloads") / "tiny.yaml"


def test_an_unknown_name_is_told_apart_from_a_missing_path() -> None:
    with pytest.raises(InputError) as caught:
        resolve_workload("tinny")
    assert str(caught.value) == 'no file and no shipped workload "tinny" (did you mean "tiny"?)'
    assert resolve_workload("elsewhere/tiny.yaml") == Path("elsewhere/tiny.yaml")


@pytest.mark.parametrize("name", ["", "..", "../tiny", "/", "tiny/../tiny"])
def test_strange_names_lead_to_no_shipped_file(name: str) -> None:
    try:
        path = resolve_workload(name)
    except InputError:
        return
    assert path == Path(name)
