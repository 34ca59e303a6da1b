"""What a law is: a function that writes one row family, and the words that a report needs about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.formulation.model import Model, Rows

Body = Callable[[Model, Rows], None]


@dataclass(frozen=True)
class Law:
    """One row family: its name, the unit its rows are written in, what its price means, its mathematics."""

    row: str
    unit: str
    size: float
    price: str
    body: Body

    @property
    def mathematics(self) -> str:
        """The docstring of the law: one sentence why, one line of mathematics."""
        return (self.body.__doc__ or "").strip()

    def __call__(self, model: Model) -> None:
        """Write the rows."""
        self.body(model, model.rows(self.row, self.size))


def law(row: str, *, unit: str, price: str, size: float = 1.0) -> Callable[[Body], Law]:
    """Declare a function `(model, rows)` to be the law of a row family."""
    return lambda body: Law(row=row, unit=unit, size=size, price=price, body=body)
