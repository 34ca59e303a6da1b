"""What an editor needs to check a workload file while it is typed."""

from __future__ import annotations

from optimizer.catalog import Catalog
from optimizer.workload import json_schema

KINDS = ("accelerators", "servers", "dimms", "drives", "cxl_enclosures", "cxl_modules")


def workload_schema(catalog: Catalog) -> str:
    """The JSON Schema of a workload file, with the names of the catalogue's cards where a card is named."""
    known = {kind: [card.id for card in getattr(catalog.devices, kind)] for kind in KINDS}
    return json_schema.text({"models": list(catalog.models), **known})
