"""One way to run a shipped model, without a workload, and what its decode iteration takes."""

from __future__ import annotations

from optimizer.catalog import ModelCard, ModelOption
from optimizer.instance import Sku
from optimizer.instance.deployment import Deployment, shape_name
from optimizer.workload.schema import Measured
from tests.instance.shipped import CATALOG


def deployed(
    card: ModelCard, option: ModelOption, accelerator: str, form: str, measured: tuple[Measured, ...] = ()
) -> Deployment:
    """An option on an accelerator in a shape of its card ("tp8"), admitting the longest context it takes."""
    shape = next(s for s in card.shapes if (s.accelerator, shape_name(s)) == (accelerator, form))
    part = CATALOG.accelerator(accelerator)
    sku = Sku(accelerator, accelerator, 8, 0, 100, None, 0, 0.0, 1, part.nic.value * 8, 0)
    facility, longest = CATALOG.devices.facility, card.max_context.value
    return Deployment(card, option, sku, part, shape, facility, longest, (option,), measured)


def iteration(d: Deployment, tokens: float, sequences: float) -> float:
    """Seconds of a decode iteration, as its rows have them: overhead and the largest of three terms."""
    memory = d.weights_seconds(sequences, everything=False) + sequences * d.decode_memory(tokens)
    compute, network = sequences * d.decode_compute(tokens), sequences * d.decode_network()
    return d.overhead(sequences) + max(memory, compute, network)
