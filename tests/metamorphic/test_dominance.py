"""An option that another dominates is left out before anything is solved: the optimum must not notice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from optimizer.catalog import Catalog, load_catalog
from optimizer.files import read_text_yaml
from optimizer.instance import Instance
from optimizer.instance import offer as offer_module
from optimizer.instance.build import build
from optimizer.workload import Workload
from optimizer.workload.load import loaded

from .solved import differs, optimum

ONE_CLASS = """
schema: tierplan-workload/1
name: one-class
classes:
  agents:
    model: {model}
    peak_rate: {rate} req/s
    first_prompt: 12 ktok
    new_tokens: 2 ktok
    output_tokens: 400 tok
    contexts: [{{tokens: 120 ktok, share: 1.0}}]
    reuse:
      return_probability: 0.95
      gaps: {{lognormal: {{median: 1200 s, p90: 7200 s}}}}
    slo: {{ttft: 30 s, tpot: 50 ms, attainment: 0.9}}
    quality_floor: {floor} pt
hardware:
  servers: {{HGX-B300-8: {{max: 40}}}}
  dimms: [RDIMM-32, RDIMM-64]
  drives: [9550-3.84]
  drive_counts: [4]
tiers: {{cxl: {{enabled: false}}, dram_pool: {{enabled: false}}, storage: {{enabled: false}}}}
options: {{{model}: {{unpublished: {unpublished}}}}}
grid: {{ages: 3, lanes: 1, mixed_share: null}}
"""


@dataclass(frozen=True)
class Case:
    """A model whose admissible options hold a dominated one."""

    model: str
    floor: float
    unpublished: bool
    rate: float
    fewer: int
    """Options that are left out."""


CASES = (
    Case("deepseek-v3.2", 0.0, True, 4.0, 1),
    Case("deepseek-v4-flash", 3.0, False, 20.0, 1),
    Case("kimi-k2", 0.0, True, 2.0, 1),
    Case("kimi-k3", 1.0, False, 2.0, 2),
)


def workload(case: Case) -> Workload:
    text = ONE_CLASS.format(
        model=case.model, rate=case.rate, floor=case.floor, unpublished=str(case.unpublished).lower()
    )
    return loaded(read_text_yaml(text, "one-class.yaml")).workload


def unscreened(asked: Workload, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """The instance with every admissible option."""
    with monkeypatch.context() as patch:
        patch.setattr(offer_module, "undominated", lambda card, options: options)
        return build(asked, catalog)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_dominated_option_is_not_missed(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer options, the same least cost, and the same LP underneath."""
    asked = workload(case)
    few = build(asked, load_catalog())
    every = unscreened(asked, load_catalog(), monkeypatch)
    assert len(every.options) - len(few.options) == case.fewer
    one, other = optimum(few), optimum(every)
    assert one.usd < float("inf")
    assert not differs(one.usd, other.usd)
    assert not differs(one.relaxed, other.relaxed)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_choice_is_the_best_of_its_options(case: Case) -> None:
    """Solved one option at a time (`only`), the cheapest is what the choice among all of them costs."""
    asked = workload(case)
    together = optimum(build(asked, load_catalog())).usd
    names = [o.name for o in build(asked, load_catalog()).options]
    rules = asked.options[case.model]
    alone = []
    for name in names:
        only = asked.model_copy(update={"options": {case.model: rules.model_copy(update={"only": (name,)})}})
        alone.append(optimum(build(only, load_catalog())).usd)
    assert not differs(together, min(alone))


def test_option_that_may_not_use_a_codec_does_not_dominate_one_that_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At a floor of 3 points the option that loses 3 has none left for a codec of half a point."""
    catalog = load_catalog()
    card = catalog.model("deepseek-v4-flash")
    codec = next(c for c in card.codecs if c.id == "lossless-ans")
    strong = codec.model_copy(
        update={
            "ratio": {"fp8": 40.0},
            "quality_loss": codec.quality_loss.model_copy(update={"value": 0.5}),
            "tiers": ("dram", "nvme"),
            "rate": codec.rate.model_copy(update={"value": 1e15}),
        }
    )
    card = card.model_copy(update={"codecs": (strong,)})
    catalog = replace(catalog, models={**catalog.models, card.id: card})
    asked = workload(CASES[1])
    few, every = build(asked, catalog), unscreened(asked, catalog, monkeypatch)
    assert not differs(optimum(few).usd, optimum(every).usd)
