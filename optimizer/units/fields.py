"""How a suffixed quantity stands in a pydantic model: read by `parse`, held as an SI float."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from optimizer.units.quantities import UnitError, parse


class Strict(BaseModel):
    """Frozen and closed: an unknown key is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def quantity(dimension: str, **bounds: Any) -> Any:
    """The annotation of a suffixed quantity of this dimension, held as an SI float."""

    def read(value: object) -> float:
        try:
            return parse(value, dimension)
        except UnitError as fault:
            raise ValueError(str(fault)) from fault

    return Annotated[
        float, BeforeValidator(read), Field(json_schema_extra={"dimension": dimension}, **bounds)
    ]
