"""What a planner reads when something is wrong: file, line, column, path, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from optimizer.cli import ExitCode, main

TINY = """\
schema: tierplan-workload/1
name: tiny
description: Two models on at most four B300 servers
classes:
  flash-chat:
    model: deepseek-v4-flash
    peak_rate: 4 req/s
    peak_to_mean: 2.0
    first_prompt: 5 ktok
    new_tokens: 1 ktok
    output_tokens: 343 tok
    contexts:
      - {tokens: 12 ktok, share: 1.0}
    reuse:
      return_probability: 0.6
      gaps:
        lognormal: {median: 120 s, p90: 530 s}
    slo: {ttft: 2 s, tpot: 50 ms, attainment: 0.9}
  k2-agentic:
    model: kimi-k2
    peak_rate: 1 req/s
    peak_to_mean: 2.0
    first_prompt: 12 ktok
    new_tokens: 2.2 ktok
    output_tokens: 423 tok
    contexts:
      - {tokens: 60 ktok, share: 1.0}
    reuse:
      return_probability: 0.97
      gaps:
        mixture:
          - {weight: 0.8, exponential: {mean: 12 s}}
          - {weight: 0.2, lognormal: {median: 120 s, p90: 1200 s}}
    slo: {ttft: 10 s, tpot: 50 ms, attainment: 0.9}
hardware:
  servers:
    HGX-B300-8: {max: 4}
  dimms: [RDIMM-32]
  drives: [9550-3.84]
  drive_counts: [4]
tiers:
  cxl: {enabled: false}
  dram_pool: {enabled: false}
  storage: {enabled: false}
options:
  deepseek-v4-flash: {only: [fp8-fp8idx, fp8-fp4idx]}
  kimi-k2: {only: [int4-bf16, fp8-bf16]}
grid:
  ages: 3
  lanes: 1
  mixed_share: null
"""
"""The smallest shipped workload as it was once, without its comments: places in it stay where they are."""


@pytest.fixture
def validate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Validate the tiny workload with places changed; returns what CliRunner saw."""
    monkeypatch.chdir(tmp_path)

    def run(*changes: tuple[str, str], command: str = "validate"):
        text = TINY
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        Path("mine.yaml").write_text(text, encoding="utf-8")
        return CliRunner().invoke(main, [command, "mine.yaml"])

    return run


CHAT, K2 = "classes.flash-chat", "classes.k2-agentic"
MESSAGES = [
    ("drive_counts", "drive_count", '40:3 hardware.drive_count: unknown key (did you mean "drive_counts"?)'),
    ("5 ktok", "5", f'9:5 {CHAT}.first_prompt: "5" has no unit (did you mean "5 tok"?)'),
    ("5 ktok", '"5"', f'9:5 {CHAT}.first_prompt: "5" has no unit (did you mean "5 tok"?)'),
    ("tiers:\n", "tiers:\n  dram: {max_bytes: 141 Gb}\n",
     '42:10 tiers.dram.max_bytes: "Gb" is not a unit here: case matters (did you mean "141 GB"?)'),
    ("5 ktok", "5 GB", f'9:5 {CHAT}.first_prompt: "GB" is not a unit of tokens '
     "(one of: tok, ktok, Mtok, Kitok, Mitok)"),
    ("ttft: 2 s", 'ttft: "2,5 s"', f'18:11 {CHAT}.slo.ttft: "2,5 s" has a comma that is not between '
     'thousands (did you mean "2.5 s"?)'),
    ("5 ktok", "-5 ktok", f'9:5 {CHAT}.first_prompt: "-5 ktok" must be greater than 0'),
    ("0.6", "-0.6", f"15:7 {CHAT}.reuse.return_probability: -0.6 must be greater than or equal to 0"),
    ("share: 1.0", "share: .nan",
     f"13:34 {CHAT}.contexts.0.share: .nan is not a finite number (write a number)"),
    ("share: 1.0", "share: -.inf",
     f"13:34 {CHAT}.contexts.0.share: -.inf is not a finite number (write a number)"),
    ("share: 1.0", "share: 1e999",
     f"13:34 {CHAT}.contexts.0.share: 1e999 is not a finite number (write a number)"),
    ("4 req/s", "nan req/s", f'7:5 {CHAT}.peak_rate: "nan req/s" is not a number with a unit, '
     'expected 1/s such as "1 req/s"'),
    ("    peak_rate: 4", "    model: kimi-k2\n    peak_rate: 4",
     f'7:5 {CHAT}.model: duplicate key "model" (it stands already on line 6)'),
    ("model: deepseek-v4-flash", "model: deepseek-v4-flsh",
     '46:3 options.deepseek-v4-flash: no class uses a model "deepseek-v4-flash" '
     '(did you mean "deepseek-v4-flsh"? or is it misspelt there)'),
    ("HGX-B300-8: {", "HGX-B300-9: {", '37:5 hardware.servers.HGX-B300-9: "HGX-B300-9" is no server of the '
     'catalogue (did you mean "HGX-B300-8"?)'),
    ("[RDIMM-32]", "[RDIMM-23]",
     '38:11 hardware.dimms.0: "RDIMM-23" is no DIMM of the catalogue (did you mean "RDIMM-32"?)'),
    ("fp8-fp4idx", "fp8-fp4id", "46:42 options.deepseek-v4-flash.only.1: "
     '"fp8-fp4id" is no option of deepseek-v4-flash of the catalogue (did you mean "fp8-fp4idx"?)'),
    ("share: 1.0", "share: 90%", f"12:5 {CHAT}.contexts: shares sum to 0.9, not 1 (add 0.1)"),
    ("weight: 0.2", "weight: 30%",
     f"31:9 {K2}.reuse.gaps.mixture: weights sum to 1.1, not 1 (take away 0.1)"),
    ("max: 4", "max: 4.5", "37:18 hardware.servers.HGX-B300-8.max: expected a whole number, found 4.5"),
    ("max: 4", "max: 1" + "0" * 20, "37:18 hardware.servers.HGX-B300-8.max: 1e+20 is more than is planned "
     "with (1e+07) (check the unit and the digits)"),
    ("enabled: false", "enabled: no", '42:9 tiers.cxl.enabled: expected true or false, found "no"'),
    ("lanes: 1", "lanes: 3", "50:3 grid.lanes: 3 is not one of 1 or 2"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MESSAGES, ids=[new[:40] for _, new, _ in MESSAGES])
def test_one_fault_is_told_with_its_place(validate, old: str, new: str, message: str) -> None:
    done = validate((old, new))
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stdout == ""
    assert f"error: mine.yaml:{message}\n" in done.stderr


def test_a_tpot_that_no_hardware_reaches(validate) -> None:
    done = validate(("tpot: 50 ms", "tpot: 0.2 ms"))
    assert done.exit_code == ExitCode.INFEASIBLE
    assert done.stderr.startswith(f"error: mine.yaml:18:22 {CHAT}.slo.tpot: no allowed hardware decodes")


H200 = ("HGX-B300-8", "HGX-H200-8")


@pytest.mark.parametrize("command", ["validate", "solve"])
def test_options_that_no_allowed_accelerator_runs(validate, command: str) -> None:
    """All that `only` names: refused, with the accelerators they need and the servers that have these."""
    done = validate(H200, ("[fp8-fp8idx, fp8-fp4idx]", "[fp8-fp4idx]"), command=command)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith(
        'error: mine.yaml:46:30 options.deepseek-v4-flash.only.0: "fp8-fp4idx" of deepseek-v4-flash runs on '
        "none of the allowed accelerators (H200-SXM) (it needs B200-SXM, B300-SXM, "
    )
    assert "allow HGX-B200-8, HGX-B300-8, " in done.stderr


def test_one_option_of_several_that_no_allowed_accelerator_runs(validate) -> None:
    """Some that `only` names: planned without them, and said."""
    done = validate(H200, ("ttft: 10 s", "ttft: 60 s"))
    assert done.exit_code == ExitCode.OK
    assert done.stdout.startswith("tiny: OK\n")
    assert "warning: mine.yaml:46:42 options.deepseek-v4-flash.only.1: " in done.stderr


def test_a_model_that_starts_nowhere_is_told_where_it_is_asked_for(validate) -> None:
    """Kimi K3 on eight B200."""
    k3 = (("model: kimi-k2", "model: kimi-k3"), ("kimi-k2: {only: [int4-bf16, fp8-bf16]}", "kimi-k3: {}"))
    done = validate(*k3, ("HGX-B300-8: {max: 4}", "HGX-B200-8: {max: 1}"))
    assert done.exit_code == ExitCode.INFEASIBLE
    assert done.stderr.startswith("error: mine.yaml:20:5 classes of kimi-k3: no instance of kimi-k3 starts")


def test_two_power_bases(validate) -> None:
    """A rent that contains the electricity beside a price of electricity."""
    money = "economics: {colocation_includes_energy: true}\nprices: {electricity: $0.1/kWh}\ngrid:"
    done = validate(("grid:", money))
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr == (
        "error: mine.yaml:49:10 prices.electricity: is in the rent already: "
        "economics.colocation_includes_energy is true (leave one of them out)\n"
    )


def test_a_tier_smaller_than_the_one_above_it_is_a_warning(validate) -> None:
    tiers = "tiers:\n  dram: {min_bytes: 2 TB}\n  nvme: {max_bytes: 1 TB}\n"
    done = validate(("tiers:\n", tiers))
    assert done.exit_code == ExitCode.OK
    assert done.stderr.startswith("warning: mine.yaml:43:10 tiers.nvme.max_bytes: nvme may have 1.00 TB")
    assert done.stderr.count("\n") == 1


def test_every_fault_at_once_in_the_order_of_the_file(validate) -> None:
    two = (("drive_counts", "drive_cuonts"), ("lanes: 1", "lanes: 9"))
    done = validate(("4 req/s", "4"), ("5 ktok", "5 kTok"), *two)
    places = [line.split()[1] for line in done.stderr.splitlines()]
    assert places == ["mine.yaml:7:5", "mine.yaml:9:5", "mine.yaml:40:3", "mine.yaml:50:3"]


def test_an_escape_is_shown_and_not_obeyed(validate) -> None:
    done = validate(("model: kimi-k2", 'model: "kimi\u202ek2\u00a0"'))
    assert done.exit_code == ExitCode.BAD_INPUT
    assert "\\u202e" in done.stderr
    assert "\u202e" not in done.stderr


@pytest.mark.parametrize(
    ("option", "code", "words"),
    [
        ("mip_heuristic_efort=0.2", ExitCode.BAD_INPUT, "did you mean mip_heuristic_effort?"),
        ("presolve=banana", ExitCode.BAD_INPUT, "HiGHS refuses the value 'banana'"),
        ("time_limit=3", ExitCode.BAD_INPUT, "is set by us"),
        ("mip_max_nodes", ExitCode.USAGE, "is not NAME=VALUE"),
        ("=3", ExitCode.USAGE, "is not NAME=VALUE"),
    ],
)  # fmt: skip
def test_a_misspelt_solver_option_is_an_error(option: str, code: ExitCode, words: str) -> None:
    done = CliRunner().invoke(main, ["solve", "tiny", "--solver-option", option])
    assert done.exit_code == code
    assert done.stdout == ""
    assert words in done.stderr
