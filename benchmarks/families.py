"""The questions that speed is measured with: three families at three sizes, and ladders of one thing at a
time.

S is `two-directions` (2 models, 4 classes), M is `six-models` (6 models, 12 classes), L draws 15 models and
60 classes from the shipped cards and the kinds of traffic of `six-models`. A size scales the rates of every
class, and with them what limits a facility (power, nodes, pools), so that a larger one stays as free to
choose. Everything drawn is drawn from a fixed seed: the same family is the same question everywhere. What
each buys: `python -m benchmarks.families`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from optimizer.catalog import Catalog, load_catalog
from optimizer.files import read_yaml, resolve_workload
from optimizer.instance import Instance
from optimizer.instance.build import build
from optimizer.units import parse
from optimizer.workload import Loaded, load_workload
from optimizer.workload.load import loaded

SEED = 20261201
FAMILIES = ("S", "M", "L")
SIZES = ("small", "medium", "large")
SHIPPED = {"S": "two-directions", "M": "six-models", "tiny": "tiny"}
RATES = {
    "tiny": {"as shipped": 1.0},
    "S": {"small": 0.08, "medium": 0.6, "large": 6.0},
    "M": {"small": 0.06, "medium": 0.6, "large": 6.0},
    "L": {"small": 0.01, "medium": 0.08, "large": 0.8},
}
"""Times the rates that are stated: tens, hundreds and thousands of GPUs. Fifteen models take more than
tens."""
KINDS = (
    "deepseek-chat",
    "longcat-agentic",
    "longcat-research",
    "qwen-agentic",
    "qwen-documents",
    "mimo-reasoning",
    "deepseek-agentic",
    "glm-agentic",
)
"""Classes of six-models that stand for a kind of traffic; a model takes those whose contexts it can hold."""
LARGEST = (15, 60)
"""Models and classes of L."""
RATE_SPREAD = 2.0
"""A drawn class has between a half and twice the rate of its kind: no two classes are alike."""
LADDERS: dict[str, tuple[int, ...]] = {"classes": (4, 8, 16, 32, 60), "models": (1, 2, 4, 8, 15)}
"""Growth: classes at `HELD["models"]` models, models at `HELD["classes"]` classes."""
HELD = {"models": 4, "classes": 16, "rates": 0.3}
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Growth of the facility: times the rates of S."""


@dataclass(frozen=True)
class Cell:
    """One family at one size: a name, the question, and the problem it is."""

    family: str
    size: str
    loaded: Loaded

    @property
    def name(self) -> str:
        """`S small`."""
        return f"{self.family} {self.size}"

    def instance(self, catalog: Catalog | None = None) -> Instance:
        """The problem, built anew."""
        return build(self.loaded.workload, catalog or load_catalog())


def cell(family: str, size: str) -> Cell:
    """A family at a size."""
    factor = RATES[family][size]
    if family in SHIPPED:
        return Cell(family, size, shipped(SHIPPED[family], factor))
    return Cell(family, size, drawn(*LARGEST, factor))


def shipped(name: str, factor: float, *changes: str) -> Loaded:
    """A shipped workload with its rates, and what limits its facility, times a factor, and then changed."""
    asked = load_workload(name)
    data = asked.document.data
    return loaded(asked.document, [*_rates(data, factor), *_limits(data, factor), *changes])


def drawn(models: int, classes: int, factor: float, seed: int = SEED) -> Loaded:
    """So many classes over so many models of the catalogue, with what `six-models` offers to buy.

    Classes go round the models; each model goes through the kinds of traffic that it can hold in an order of
    its own. The first models and classes of a larger draw are those of a smaller one.
    """
    document = read_yaml(resolve_workload(SHIPPED["M"]))
    stated = document.data["classes"]
    cards = load_catalog().models
    names = _order(seed)[:models]
    written: dict[str, Any] = {}
    for number in range(classes):
        model, turn = names[number % models], number // models
        fits = [kind for kind in KINDS if _longest(stated[kind]) <= cards[model].max_context.value]
        random.Random(f"{seed} {model}").shuffle(fits)
        kind = fits[turn % len(fits)]
        share = RATE_SPREAD ** random.Random(f"{seed} {model} {turn}").uniform(-1.0, 1.0)
        rate = parse(stated[kind]["peak_rate"], "1/s") * share
        written[f"{model}-{turn + 1}-{kind.partition('-')[2]}"] = {
            **stated[kind], "model": model, "peak_rate": f"{rate:.6g} req/s", "quality_floor": "1 pt",
        }  # fmt: skip
    name = f"{models}-models-{classes}-classes"
    data = {**document.data, "name": name, "description": "", "classes": written}
    anew = replace(document, data=data)
    return loaded(anew, [*_rates(data, factor), *_limits(data, factor)])


def _order(seed: int) -> list[str]:
    """The models of the catalogue in an order of the seed."""
    names = sorted(load_catalog().models)
    random.Random(seed).shuffle(names)
    return names


def _longest(stated: dict[str, Any]) -> float:
    return max(parse(bucket["tokens"], "tokens") for bucket in stated["contexts"])


def _rates(data: dict[str, Any], factor: float) -> list[str]:
    return [f"classes.{name}.peak_rate=x{factor:.6f}" for name in data["classes"]]


def _limits(data: dict[str, Any], factor: float) -> list[str]:
    """Power, nodes and pools grow with a facility larger than the file's; a smaller one may use all of them.
    The power of `six-models` is for six models: more of them take more."""
    larger = max(1, round(factor))
    models = len({c["model"] for c in data["classes"].values()})
    power = larger * max(1.0, models / 6)
    counted = [
        f"hardware.{kind}.{name}.max=x{larger}"
        for kind in ("servers", "cxl_enclosures")
        for name, choice in data["hardware"].get(kind, {}).items()
        if choice.get("max")
    ]
    return [f"facility.power=x{power:.6f}", *counted] if data.get("facility", {}).get("power") else counted


def main() -> None:
    """What every family buys at every size, by a first search that takes any layout."""
    from benchmarks.cases import LOOSE  # the search, which a question does not need
    from optimizer.design.rounds import improve
    from optimizer.design.search import Clock

    for of in (cell(family, size) for family in FAMILIES for size in SIZES):
        best, _, _ = improve(of.instance(), LOOSE, Clock.start(LOOSE.time_limit), rounds=1)
        if best is None:
            print(f"{of.name}: no layout within {LOOSE.time_limit:g} s", flush=True)
            continue
        gpus = sum(pool.accelerators for pool in best.layout.pools)
        usd, gap = best.layout.objective_usd, best.outcome.gap
        print(f"{of.name}: {gpus:,.0f} GPUs, ${usd / 1e6:,.1f}M, within {gap:.1%}", flush=True)


if __name__ == "__main__":
    main()
