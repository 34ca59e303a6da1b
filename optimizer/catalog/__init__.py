"""Cards of models and of everything that can be bought, each number with its source.

`load_catalog()` reads the shipped folder `models/` (and a planner's own cards) into a checked `Catalog`.
"""

from optimizer.catalog.costs import CostCard, Facility, Network, Paid, Per, Resale
from optimizer.catalog.devices import (
    Accelerator,
    CxlAdapter,
    CxlEnclosure,
    CxlModule,
    DeviceCatalog,
    Dimm,
    Drive,
    Efficiency,
    FixedMemory,
    HostLink,
    Population,
    ScaleUp,
    Server,
    TransferPath,
)
from optimizer.catalog.figures import Basis, Figure, Preset, Price, Sourced
from optimizer.catalog.llms import (
    ApiPrice,
    Attention,
    Codec,
    Component,
    Experts,
    ModelCard,
    ModelOption,
    Role,
    Shape,
    Snapshot,
    Speculation,
    Weights,
)
from optimizer.catalog.load import Catalog, load_catalog
from optimizer.catalog.provenance import figures_in

__all__ = [
    "Accelerator", "ApiPrice", "Attention", "Basis", "Catalog", "Codec", "Component", "CostCard",
    "CxlAdapter", "CxlEnclosure", "CxlModule", "DeviceCatalog", "Dimm", "Drive", "Efficiency", "Experts",
    "Facility", "Figure", "FixedMemory", "HostLink", "ModelCard", "ModelOption", "Network", "Paid", "Per",
    "Population", "Preset", "Price", "Resale", "Role", "ScaleUp", "Server", "Shape", "Snapshot",
    "Sourced", "Speculation", "TransferPath", "Weights", "figures_in", "load_catalog",
]
