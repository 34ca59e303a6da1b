"""The shipped cards, by the names the tests use."""

from __future__ import annotations

from optimizer.catalog import load_catalog

from .inline import fraction, size_of

CATALOG = load_catalog()


def shipped(name):
    """The card of a model."""
    return CATALOG.model(name)


def shipped_weights(name):
    """The weights that the default option of a model runs."""
    card = CATALOG.model(name)
    return card.weight(next(option.weights for option in card.options if option.default))


def shipped_accelerator(name):
    """The card of an accelerator."""
    return CATALOG.accelerator(name)


def facility(*, utilisation=None, runtime=None, graphs=None):
    """The shipped facility figures, with another HBM utilisation, runtime or graph reserve where given."""
    changed = {
        "hbm_utilisation": None if utilisation is None else fraction(utilisation),
        "runtime_bytes": None if runtime is None else size_of(runtime),
        "graph_bytes_per_sequence": None if graphs is None else size_of(graphs),
    }
    return CATALOG.devices.facility.model_copy(update={k: v for k, v in changed.items() if v is not None})
