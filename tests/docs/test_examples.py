"""The blocks of the docs do what they say: workloads load, commands parse, sessions come out as printed."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest
from typer.main import get_command

from optimizer.catalog import load_catalog
from optimizer.cli import main
from optimizer.files import read_text_yaml
from optimizer.instance.build import build
from optimizer.workload import load_workload, loaded

from .markdown import PAGES, ROOT, Block, blocks

BLOCKS = blocks(*PAGES, ROOT / "README.md")
WORKLOADS = [b for b in BLOCKS if b.info == "yaml workload"]
FRAGMENTS = [b for b in BLOCKS if b.info.startswith("yaml at ")]
SESSIONS = [b for b in BLOCKS if b.info == "python" and ">>>" in b.text]
COMMANDS = [
    (str(b), line.strip())
    for b in BLOCKS
    if b.info in ("sh", "shell", "bash", "console", "")
    for line in b.text.splitlines()
    if line.startswith("tierplan ")
]
KNOWN = {"yaml", "yaml workload", "python", "sh", "text", "mermaid", ""}


def test_every_block_says_what_it_is():
    assert [b for b in BLOCKS if b.info not in KNOWN and b not in FRAGMENTS] == []


def test_there_is_something_to_check():
    assert WORKLOADS
    assert FRAGMENTS
    assert SESSIONS
    assert COMMANDS


@pytest.mark.parametrize("block", WORKLOADS, ids=str)
def test_a_workload_is_valid_and_can_be_asked(block: Block):
    """It loads, its names are cards, and some allowed hardware can serve it."""
    question = loaded(read_text_yaml(block.text, str(block)))
    instance = build(question.workload, load_catalog())
    assert instance.pools
    assert instance.holdings


@pytest.mark.parametrize("block", FRAGMENTS, ids=str)
def test_a_fragment_fits_where_it_says(block: Block):
    """`yaml at a.b.c`: the fragment in the place of a.b.c of its page's workload."""
    (host,) = [w for w in WORKLOADS if w.page == block.page]
    document = read_text_yaml(host.text, str(host))
    *way, last = block.info.removeprefix("yaml at ").split(".")
    place = document.data
    for key in way:
        place = place[key]
    place[last] = read_text_yaml(block.text, str(block)).data
    loaded(document)


@pytest.mark.parametrize("name", sorted({b.page for b in SESSIONS}))
def test_a_session_comes_out_as_printed(name: str):
    """The blocks of one page are one session."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    names: dict[str, object] = {}
    for block in SESSIONS:
        if block.page == name:
            test = doctest.DocTestParser().get_doctest(block.text, names, str(block), name, block.line)
            runner.run(test, clear_globs=False)
            names = test.globs
    assert runner.tries > 0
    assert runner.failures == 0


@pytest.mark.parametrize(("where", "line"), COMMANDS, ids=[f"{where} {line}" for where, line in COMMANDS])
def test_a_command_line_is_one(where: str, line: str):
    """Command, options and values are read as the shell would hand them over; nothing is run."""
    name, parameters = parsed(line)
    sets = parameters.get("sets") or []
    if name in ("solve", "validate") and sets:
        load_workload(parameters["file"], sets)


@pytest.mark.parametrize(
    "line",
    [
        "tierplan slove x", "tierplan solve x --stes a=b", "tierplan solve x --gap 3",
        "tierplan trace stat x", "tierplan trace stats x --jsno",
    ],
)
def test_a_line_that_is_none_would_be_noticed(line: str):
    with pytest.raises(Exception, match=r"(?i)no such|is not a gap"):
        parsed(line)


def parsed(line: str) -> tuple[str, dict[str, object]]:
    """The command of a line and its parameters, as the command line reads them."""
    words = shlex.split(line, comments=True)[1:]
    words = [word for word in words if not re.fullmatch(r"[<>|]", word)]
    context = get_command(main).make_context("tierplan", words)
    names = []
    while hasattr(context.command, "resolve_command"):  # a group of commands
        rest = [*context._protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        context = command.make_context(name, list(rest), parent=context)
        names.append(name)
    return " ".join(names), context.params
