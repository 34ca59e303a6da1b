"""The shipped workloads, solved as the README solves them: proven, checked, within the memory allowed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from optimizer.design import Result
from tests.docs.markdown import number, page, quoted, table
from tests.instance.shipped import WORKLOADS
from tests.measured import run

pytestmark = pytest.mark.slow
PATIENCE = "300 s"  # a loaded machine is slow; how fast it is belongs to benchmarks
MEMORY = 1.5e9  # bytes at the peak of one command
HANGS = 1200.0  # seconds: search, replays, and solving again has as long
LARGE = {"six-models": 100_000}  # columns; the others keep to 30,000
GAPS = {"small": "0.5%"}  # whole instances weigh most in a small facility


def by_the_command(name: str, out: Path, *options: str) -> Result:
    """The result of a shipped workload, as the README solves it."""
    command = [str(Path(sys.executable).parent / "tierplan"), "solve", name, "--out", str(out)]
    command += ["--no-compare", "--time-limit", PATIENCE, "--gap", GAPS.get(name, "1%"), *options]
    ended = run(command, out, HANGS)
    assert ended.code == 0, ended.err
    assert ended.peak < MEMORY
    return Result.model_validate(json.loads((out / "result.json").read_text()))


Answers = Callable[..., Result]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Results by workload and `--set`, each question asked once."""
    known: dict[tuple[str, ...], Result] = {}

    def answer(name: str, *changes: str) -> Result:
        if (name, *changes) not in known:
            options = [word for change in changes for word in ("--set", change)]
            known[name, *changes] = by_the_command(name, tmp_path_factory.mktemp(name), *options)
        return known[name, *changes]

    return answer


@pytest.fixture(scope="module", params=[name for name in WORKLOADS if name != "tiny"])
def solved(request: pytest.FixtureRequest, answers: Answers) -> Result:
    """The result of a shipped workload."""
    return answers(request.param)


def test_the_gap_asked_for_is_proven(solved: Result) -> None:
    asked = 0.005 if solved.name == "small" else 0.01
    assert solved.status in ("optimal", "within_gap")
    assert solved.gap is not None
    assert solved.gap <= asked
    assert solved.objective_usd * (1 - asked) <= solved.bound_usd <= solved.objective_usd


def test_layout_is_checked_exactly(solved: Result) -> None:
    assert solved.checks.exact is not None
    assert solved.checks.exact.passed
    assert solved.checks.exact.rows_checked > 200


def test_every_dollar_is_allocated(solved: Result) -> None:
    total = sum(
        (price or 0.0) * amount
        for t in solved.per_million_tokens
        for price, amount in ((t.cached, t.cached_mtok), (t.missed, t.missed_mtok), (t.output, t.output_mtok))
    )
    assert total == pytest.approx(solved.objective_usd, rel=1e-6)
    assert sum(c.usd for c in solved.costs) == pytest.approx(solved.objective_usd, rel=1e-9)


def test_model_stays_small(solved: Result) -> None:
    assert solved.size is not None
    assert solved.size.columns <= LARGE.get(solved.name, 30_000)


def test_the_page_states_what_is_found(solved: Result) -> None:
    """Two proven answers to one question: neither costs less than the other's bound, as printed."""
    rows = table(page("workloads.md"), "workload | models")
    (row,) = (row for row in rows if quoted(row[0]) == [solved.name])
    cost, gap = number(row[5].strip("$M")) * 1e6, number(row[6].strip("%")) / 100
    assert solved.objective_usd is not None
    assert solved.bound_usd is not None
    assert solved.bound_usd <= cost + 0.5e4
    assert (cost - 0.5e4) * (1 - gap - 0.5e-4) <= solved.objective_usd


def test_sovereign_names_its_binding_limits_with_prices(answers: Answers) -> None:
    """Power and a quota bind: one more kilowatt, one more server of the licence would save money."""
    prices = {b.row: b.long_run_price_usd for b in answers("sovereign").binding}
    assert prices["power[now]"] > 1_000  # USD per kW
    quotas = {row: price for row, price in prices.items() if row.startswith("supply[")}
    assert quotas
    assert all(price > 100_000 for price in quotas.values())  # USD per server


@pytest.mark.parametrize("more", ["hardware.servers.HGX-H200-8.supply=20", "facility.power=970 kW"])
def test_what_has_a_price_saves_money_when_there_is_more(answers: Answers, more: str) -> None:
    assert (answers("sovereign", more).objective_usd or 0) < (answers("sovereign").bound_usd or 0)


def test_drives_pay_in_a_small_facility(answers: Answers) -> None:
    with_drives, without = answers("small"), answers("small", "tiers.nvme.enabled=false")
    assert installed(with_drives, "nvme") > 0
    assert installed(without, "dram") > installed(with_drives, "dram")
    assert (without.bound_usd or 0) > (with_drives.objective_usd or 0)


def test_fuller_memory_is_dearer(answers: Answers) -> None:
    """The same agents: all of a cache read for every token, a selection of it, compressed rows."""
    cost = {
        t.cls: sum((price or 0.0) * amount for price, amount in (
            (t.cached, t.cached_mtok), (t.missed, t.missed_mtok), (t.output, t.output_mtok)))
        for t in answers("full-kv").per_million_tokens
    }  # fmt: skip
    assert cost["llama-agents"] > 1.2 * max(cost["qwen-agents"], cost["k2-agents"])
    assert min(cost["qwen-agents"], cost["k2-agents"]) > 2 * cost["v32-agents"]
    assert cost["v32-agents"] > 1.5 * cost["v4-agents"]


def test_flash_takes_the_load_from_dear_dram(answers: Answers) -> None:
    """D1 in a facility: at the DRAM price of 2025 and at nine times that."""
    cheap, dear = answers("price-shock", "prices.dram=$4/GB"), answers("price-shock")
    assert memory(dear) < memory(cheap)
    assert installed(dear, "nvme") + installed(dear, "storage") > 0
    assert hits(dear, "nvme", "storage") > hits(cheap, "nvme", "storage")
    assert (dear.objective_usd or 0) >= (cheap.bound_usd or 0)


def installed(result: Result, tier: str) -> float:
    """Bytes bought of a tier."""
    assert result.layout is not None
    return result.layout.tiers[tier].installed_bytes


def memory(result: Result) -> float:
    """Bytes of DRAM bought, wherever they sit."""
    return sum(installed(result, tier) for tier in ("dram", "cxl", "dram_pool"))


def hits(result: Result, *tiers: str) -> float:
    """Requests per second that some tiers answer."""
    assert result.layout is not None
    return sum(f.rate for f in result.layout.flows if f.case == "hit" and f.tier in tiers)
