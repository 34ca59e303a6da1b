"""Law 2: contexts only sink. Never up, never back; a write-through copy exists from age 0 or never."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.formulation.law import law
from optimizer.formulation.model import Model, Rows, scaled
from optimizer.formulation.tables import group
from optimizer.instance import Holding


def chains(model: Model) -> Iterator[tuple[str, str, str, list[Holding], int]]:
    """(option, bucket, home, its holdings fast to slow, number of age slots)."""
    order = {loc.id: loc.order for loc in model.instance.locations}
    for (option, bucket), holdings in model.tables.holdings.items():
        slots = len(model.tables.buckets[bucket].slots)
        for home, chain in group(holdings, lambda h: h.home).items():
            yield option, bucket, home, sorted(chain, key=lambda h: order[h.serve]), slots


@law("contexts_only_sink", unit="share", price="a context moving back up")
def contexts_only_sink(model: Model, rows: Rows) -> None:
    """An idle context sinks to slower tiers or is dropped, never rises.

    write-through: faster copies lie over contexts of the home, share[(d,d),j] >= 0 (times do the rest:
    see `contexts`); exclusive: sum_{k'<=k} share[k',j+1] <= sum_{k'<=k} share[k',j] for each k   [share]
    """
    contexts = model.contexts
    for option, bucket, home, chain, slots in chains(model):
        if not contexts.exclusive:
            if chain[-1].serve != home:
                raise ValueError(f"the home of {chain[-1].id} must be its slowest tier")
            for j in range(1, slots + 1) if len(chain) > 1 else ():
                rows.at_most((option, bucket, home, j), scaled(-1.0, contexts.slot(chain[-1], j)))
            continue
        for upto in range(1, len(chain) + 1):
            for j in range(1, slots):
                after = [t for h in chain[:upto] for t in contexts.slot(h, j + 1)]
                before = [t for h in chain[:upto] for t in contexts.slot(h, j)]
                rows.at_most((option, bucket, chain[upto - 1].serve, home, j), after, before)


@law("contexts_split", unit="share", price="holding this bucket's contexts once more")
def contexts_split(model: Model, rows: Rows) -> None:
    """A context has one home, and only under the chosen option.

    sum_h share[h,1] <= option[a]   [share]
    """
    for (option, bucket), holdings in model.tables.holdings.items():
        held = [t for h in holdings for t in model.contexts.begun(h)]
        rows.at_most((option, bucket), held, [(1.0, model.pyomo.option[option])])


@law("context_entry", unit="share", price="one write less into this tier")
def context_entry(model: Model, rows: Rows) -> None:
    """Under the exclusive policy a context that sinks into a tier is written there.

    entry[h,j] >= share[h,j] - share[h,j-1]   [share]
    """
    for (number, j), entry in model.pyomo.entry.items():
        h = model.instance.holdings[number]
        before = [*model.contexts.slot(h, j - 1), (1.0, entry)]
        rows.at_most((h.id, j), model.contexts.slot(h, j), before)


LAWS = (contexts_only_sink, contexts_split, context_entry)
