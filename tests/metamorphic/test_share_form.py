"""Times or shares: `kept` (how long) and `share` (what is there in each slot) describe the same contexts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from optimizer.formulation import LAWS, Model, objective
from optimizer.formulation import model as formulation_model
from optimizer.formulation.contexts import Contexts, Terms
from optimizer.formulation.tables import group
from optimizer.instance import Holding, Instance, Policy

from .solved import FAST, SLOW, base, differs, optimum


class Shares(Contexts):
    """The decision is share[h,j] itself."""

    def weighted(self, h: Holding, weights: Sequence[float]) -> Terms:
        return self._columns(h, weights)

    def weighted_home(self, h: Holding, weights: Sequence[float]) -> Terms:
        above = self.over.get((h.option, h.bucket, h.home), ())
        return [t for held in (h, *above) for t in self._columns(held, weights)]

    def begun(self, h: Holding) -> Terms:
        return self.slot(h, 1)


def never_rises(model: Model) -> None:
    """share[(k,d),j+1] <= share[(k,d),j] for every faster copy k, and for all copies over a home together."""
    contexts, rows = model.contexts, model.rows("contexts_only_sink")
    chains = group(model.instance.holdings, lambda h: (h.option, h.bucket, h.home))
    for key, chain in chains.items():
        together: dict[str, list[Holding]] = {h.serve: [h] for h in chain if h.serve != h.home}
        for name, held in {**together, "all": chain}.items():
            for j in range(1, contexts.slots(chain[0])):
                later = [t for h in held for t in contexts.slot(h, j + 1)]
                rows.at_most((*key, name, j), later, [t for h in held for t in contexts.slot(h, j)])


def in_shares(instance: Instance) -> Model:
    """Every law as it stands, over shares; the law of sinking written out."""
    written = Model(instance)
    for law in LAWS:
        never_rises(written) if law.row == "contexts_only_sink" else law(written)
    objective.least_total_cost(written)
    return written


def compare(seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], int]:
    """Seeds where the two forms differ, and how many know a faster copy over a home."""
    before = {s: base(s) for s in seeds if base(s).instance.policy is Policy.WRITE_THROUGH}
    monkeypatch.setattr(formulation_model, "Contexts", Shares)
    after = {s: optimum(b.instance, in_shares) for s, b in before.items()}
    assert all(isinstance(a.model.contexts, Shares) for a in after.values())
    broken = [
        (s, one, other)
        for s, b in before.items()
        for one, other in ((b.usd, after[s].usd), (b.relaxed, after[s].relaxed))
        if differs(one, other)
    ]
    return broken, sum(any(h.serve != h.home for h in b.instance.holdings) for b in before.values())


def test_share_form_has_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, told = compare(FAST[::3], monkeypatch)
    assert broken == []
    assert told > 3


@pytest.mark.slow
def test_share_form_has_the_same_optimum_on_more_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, told = compare(SLOW, monkeypatch)
    assert broken == []
    assert told > 30
