"""Every command and every exit code, with the search replaced by results made by hand."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import optimizer.design
from optimizer import __version__
from optimizer.cli import ExitCode, main
from optimizer.errors import InputError, Problem, SolverFailure
from optimizer.instance.checks import Unmeetable
from optimizer.report.files import read_result, write_result
from tests.report.fixtures import infeasible, made, rejected, unverified, without


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command; returns what CliRunner saw. The working directory is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.delenv("TIERPLAN_DEBUG", raising=False)
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def answer(monkeypatch):
    """Let `plan` answer with a result, or raise; returns what it was called with."""

    def let(result):
        seen = {}

        def plan(loaded, catalog, options, *, progress=None, interrupt=None, **asked):
            seen.update(loaded=loaded, options=options, progress=progress, interrupt=interrupt, **asked)
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(optimizer.design, "plan", plan)
        return seen

    return let


# --- solve ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (made(status="optimal"), ExitCode.OK),
        (made(status="within_gap"), ExitCode.OK),
        (made(status="limit"), ExitCode.LIMIT),
        (without("limit"), ExitCode.LIMIT),
        (infeasible(), ExitCode.INFEASIBLE),
        (rejected(), ExitCode.REJECTED),
        (unverified(), ExitCode.REJECTED),
        (unverified().model_copy(update={"status": "interrupted"}), ExitCode.INTERRUPTED),
        (made(status="interrupted"), ExitCode.INTERRUPTED),
        (without("interrupted"), ExitCode.INTERRUPTED),
    ],
    ids=["optimal", "within", "limit", "nothing-yet", "infeasible", "rejected", "unverified", "stopped",
         "interrupted", "early"],
)
def test_the_exit_code_says_how_it_ended(run, answer, result, code, tmp_path):
    answer(result)
    done = run("solve", "tiny", "--out", "out")
    assert done.exit_code == code
    assert done.stdout.startswith("by-hand: ")
    warned = "".join(f"warning: {text}\n" for text in result.warnings)
    assert done.stderr == f"{warned}written: out/result.json\n"
    assert read_result(tmp_path / "out") == result


def test_a_rejected_layout_is_no_success_at_a_limit_either(run, answer):
    answer(made(status="limit", checks=rejected().checks.model_dump()))
    assert run("solve", "tiny").exit_code == ExitCode.REJECTED


def test_json_is_all_that_stdout_carries(run, answer):
    answer(made())
    done = run("solve", "tiny", "--json", "--out", "out")
    assert json.loads(done.stdout) == json.loads(made().model_dump_json(by_alias=True))


def test_options_reach_the_search(run, answer):
    seen = answer(made())
    options = ("--gap", "2%", "--time-limit", "1.5 min", "--seed", "7", "--set", "headroom=10%")
    done = run("solve", "tiny", *options)
    assert done.exit_code == 0
    assert (seen["options"].gap, seen["options"].time_limit, seen["options"].seed) == (0.02, 90.0, 7)
    assert seen["loaded"].workload.headroom == 0.1
    assert callable(seen["progress"])
    assert seen["interrupt"]() is False


def test_an_inconclusive_replay_rejects_nothing(run, answer):
    checks = made().checks.model_dump()
    checks["replay"]["state"] = "inconclusive"
    answer(made(checks=checks))
    assert run("solve", "tiny").exit_code == ExitCode.OK


@pytest.mark.parametrize(("option", "asked"), [([], True), (["--no-simulate"], False)])
def test_a_layout_is_replayed_unless_told_otherwise(run, answer, option, asked):
    seen = answer(made())
    run("solve", "tiny", *option)
    assert seen["simulate"] is asked


def test_defaults(run, answer):
    seen = answer(made())
    run("solve", "tiny")
    assert (seen["options"].gap, seen["options"].time_limit, seen["options"].seed) == (0.01, 60.0, 0)


def test_comparisons_are_made_unless_they_are_not_wanted(run, answer):
    seen = answer(made())
    run("solve", "tiny")
    assert (seen["compare"], seen["compare_seconds"]) == (True, None)
    run("solve", "tiny", "--no-compare")
    assert seen["compare"] is False
    run("solve", "tiny", "--compare-time", "20 s")
    assert (seen["compare"], seen["compare_seconds"]) == (True, 20.0)


def test_nothing_is_written_without_out(run, answer, tmp_path):
    answer(made())
    assert "written" not in run("solve", "tiny").stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files_is_refused_before_the_search(run, answer, tmp_path):
    seen = answer(made())
    (tmp_path / "taken").write_text("")
    done = run("solve", "tiny", "--out", "taken")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith("error: taken: cannot be written")
    assert not seen


def test_the_page_is_shown_even_where_the_file_cannot_be_written(run, answer, monkeypatch):
    answer(made())

    def full(result, folder):
        raise InputError(Problem("out/result.json", "", "cannot be written: No space left on device"))

    monkeypatch.setattr("optimizer.report.files.write_result", full)
    done = run("solve", "tiny", "--out", "out")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert "by-hand: 6 HGX-B300-8" in done.stdout
    assert done.stderr.endswith("error: out/result.json: cannot be written: No space left on device\n")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--gap", "5", "is not a gap"), ("--gap", "much", "not a number"), ("--time-limit", "60", '"60 s"'),
        ("--time-limit", "0 s", "not a time limit"), ("--time-limit", "60 parsec", "not a unit of seconds"),
        ("--seed", "-1", "--seed"), ("--seed", "x", "--seed"), ("--colour", "red", "No such option"),
    ],
)
def test_a_bad_option_is_a_usage_error(run, answer, option, value, words):
    seen = answer(made())
    done = run("solve", "tiny", option, value)
    assert done.exit_code == ExitCode.USAGE
    assert words in done.stderr
    assert done.stdout == ""
    assert not seen


# --- faults -----------------------------------------------------------------------------------------------


def test_a_fault_of_ours_is_one_line_and_no_traceback(run, answer):
    answer(SolverFailure("HiGHS said kError\nand more"))
    done = run("solve", "tiny")
    assert done.exit_code == ExitCode.INTERNAL
    assert done.stdout == ""
    assert done.stderr == (
        "internal error: SolverFailure: HiGHS said kError and more "
        "(please report this; TIERPLAN_DEBUG=1 shows the traceback)\n"
    )


def test_the_traceback_comes_when_asked_for(run, answer, monkeypatch):
    monkeypatch.setenv("TIERPLAN_DEBUG", "1")
    answer(ZeroDivisionError("oh"))
    done = run("solve", "tiny")
    assert done.exit_code == ExitCode.INTERNAL
    assert "Traceback" in done.stderr


def test_ctrl_c_before_there_is_a_result(run, answer):
    answer(KeyboardInterrupt())
    done = run("solve", "tiny")
    assert done.exit_code == ExitCode.INTERRUPTED
    assert done.stdout == ""


def test_problems_found_late_get_their_place_in_the_file(run, answer, workload):
    keys = ("classes", "flash-chat", "model")
    answer(InputError(Problem("", ".".join(keys), "is no model", "", keys)))
    done = run("solve", workload("mine.yaml"))
    line = done.stderr.split(": ")[1]
    assert done.exit_code == ExitCode.BAD_INPUT
    assert line.startswith("mine.yaml:")
    assert line.endswith(" classes.flash-chat.model")


@pytest.fixture
def workload(tmp_path, root):
    """A copy of the smallest shipped workload, with a line replaced."""

    def write(name, old="", new=""):
        text = (root / "workloads" / "tiny.yaml").read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new, 1))
        return name

    return write


@pytest.mark.parametrize("command", ["solve", "validate"])
@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("peak_rate: 4 req/s", "peak_rate: 4", "11:5 classes.flash-chat.peak_rate", "has no unit"),
        ("[RDIMM-32]", "[RDIMM-33]", "44:11 hardware.dimms.0", 'did you mean "RDIMM-32"'),
        ("  drive_counts:", "  drive_countz:", "46:3 hardware.drive_countz", 'did you mean "drive_counts"'),
    ],
)
def test_bad_input_is_one_clear_message(run, workload, command, old, new, place, words):
    done = run(command, workload("mine.yaml", old, new))
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: mine.yaml:{place}: ")
    assert words in done.stderr


def test_a_bad_override_is_placed_at_the_override(run):
    done = run("validate", "tiny", "--set", "headroom=very much")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith("error: --set headroom=very much headroom: ")


def test_no_such_workload(run):
    done = run("validate", "two-direction")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert 'did you mean "two-directions"?' in done.stderr


# --- validate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny", "two-directions", "deepseek-only", "kimi-only"])
def test_shipped_workloads_are_valid(run, name):
    done = run("validate", name)
    assert done.exit_code == ExitCode.OK, done.stderr
    assert done.stdout.startswith(f"{name}: OK\n")
    assert " columns, " in done.stdout
    assert done.stderr == ""


def test_a_demand_that_nothing_meets_is_infeasible_already_here(run, monkeypatch):
    done = run("validate", "tiny", "--set", "classes.k2-agentic.slo.tpot=1 ms")
    assert done.exit_code == ExitCode.INFEASIBLE
    assert "--set classes.k2-agentic.slo.tpot=1 ms" in done.stderr
    assert "no allowed hardware decodes contexts of 60,000 tokens" in done.stderr


def test_unmeetable_keeps_its_kind_when_it_is_placed(run, answer):
    answer(Unmeetable([Problem("", "", "nothing starts")]))
    assert run("solve", "tiny").exit_code == ExitCode.INFEASIBLE


# --- models, devices --------------------------------------------------------------------------------------

FIELDS = {
    "held_bytes", "read_bytes_per_decoded_token", "growth_bytes_per_token", "fixed_bytes", "snapshot_bytes",
    "hbm_rewrite_per_decoded_token", "decode_flops_per_token", "replicated_under_tp",
}


@pytest.mark.parametrize(
    ("context", "length"),
    [("128 Kitok", 131072), ("100 ktok", 100_000), ("100000", 100_000), ("100,000", 100_000)],
)
def test_a_model_in_json(run, context, length):
    done = run("models", "kimi-k3", "--context", context, "--option", "bf16", "--json")
    (row,) = json.loads(done.stdout)
    assert row.keys() >= FIELDS
    assert row["context_tokens"] == length
    assert row["held_bytes"] == 27_648 * length + 449_372_160


@pytest.mark.parametrize("context", ["0", "-5", "128 kitok", "long", "1.5", "9e99 tok"])
def test_a_bad_context_is_a_usage_error(run, context):
    done = run("models", "--context", context)
    assert done.exit_code == ExitCode.USAGE
    assert "--context" in done.stderr


def test_all_models(run):
    done = run("models")
    assert done.exit_code == ExitCode.OK
    assert {"kimi-k3", "deepseek-v4-pro", "llama-3.1-70b"} <= set(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 110


def test_models_left_out_are_named_on_stderr(run):
    done = run("models", "--context", "1 Mitok", "--json")
    assert "llama-3.1-70b is left out" in done.stderr
    assert "llama-3.1-70b" not in {row["model"] for row in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "arguments", [("models", "kimi-k4"), ("models", "kimi-k3", "--option", "fp7"), ("devices", "HGX-B301-8"),
                  ("models", "llama-3.1-70b", "--context", "1 Mitok")]
)
def test_unknown_names(run, arguments):
    done = run(*arguments)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_devices(run):
    page, data = run("devices"), json.loads(run("devices", "--json").stdout)
    assert page.exit_code == ExitCode.OK
    assert {"low", "base", "high", "source", "estimated"} <= data[0].keys()
    assert {row["id"] for row in data} <= set(page.stdout.split())


def test_one_device(run):
    page = run("devices", "GB200-NVL72-RACK")
    data = json.loads(run("devices", "GB200-NVL72-RACK", "--json").stdout)
    assert page.stdout.startswith("GB200-NVL72-RACK (server; ~ estimate)")
    assert {"price", "max_power"} <= {row["name"] for row in data}


# --- explain ----------------------------------------------------------------------------------------------


def test_explain_reads_a_folder_or_a_file(run, tmp_path):
    path = write_result(made(), tmp_path / "out")
    first, second = run("explain", "out"), run("explain", path)
    assert first.exit_code == ExitCode.OK
    assert first.stdout == second.stdout
    assert "one more kW: saves $2,432" in first.stdout
    assert "HGX-H200-8.price" in first.stdout


def test_explain_what_is_no_result(run, tmp_path):
    (tmp_path / "r.json").write_text("{]")
    done = run("explain", "r.json")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith("error: r.json:1:2: is not JSON")


# --- the rest ---------------------------------------------------------------------------------------------


def test_version(run):
    assert run("--version").stdout == f"tierplan {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("slove",), ("solve",), ("--nonsense",)])
def test_a_command_line_that_is_none(run, arguments):
    assert run(*arguments).exit_code == ExitCode.USAGE


def test_a_misspelt_command_is_recognised(run):
    assert "Did you mean 'solve'?" in run("slove").stderr
