"""Comparisons as they stand in result.json. Dollars are discounted over the horizon as everything else is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from optimizer.units import Strict

Ended = Literal[
    "optimal",
    "within_gap",
    "limit",
    "interrupted",
    "infeasible",
    "same",
    "not_offered",
    "not_done",
    "rejected",
]
"""As a solve ends, or: the answer itself keeps the change (same), there was nothing to take away
(not_offered), nothing was searched (not_done), the exact check refused what was found (rejected)."""


class Machines(Strict):
    """Machines of one kind, each with so much DRAM; or CXL pools."""

    name: str
    count: int
    dram_bytes: float


class Neighbour(Strict):
    """The best layout of the question with one thing changed.

    The least costs of the two questions differ by an amount that lies between `least_extra_usd` and
    `most_extra_usd` (None: not known): each is known within its own gap only. `extra_usd` is what the layout
    that was found costs beyond the answer. `reasons` say why there is none, `notes` what else to know.
    """

    change: str
    status: Ended
    objective_usd: float | None = None
    bound_usd: float | None = None
    gap: float | None = None
    seconds: float = 0.0
    extra_usd: float | None = None
    least_extra_usd: float | None = None
    most_extra_usd: float | None = None
    machines: tuple[Machines, ...] = ()
    options: dict[str, str] = Field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def within_gaps(self) -> bool:
        """Whether the two least costs may be the same for all that is proven."""
        low, high = self.least_extra_usd, self.most_extra_usd
        return low is not None and high is not None and low <= 0 <= high


class Factor(Strict):
    """One performance factor of one accelerator: as its card has it, and at the two ends of its band."""

    accelerator: str
    factor: str
    unit: str
    low: float
    base: float
    high: float


class ErrorBand(Strict):
    """The question at the two ends of what is known of the accelerators, all at the same end at once."""

    low: Neighbour
    high: Neighbour
    bands: dict[str, float]
    factors: tuple[Factor, ...]


class RentLine(Strict):
    """The accelerators of one kind: rented at each quote, and as the layout has them."""

    accelerator: str
    accelerators: int
    low_usd: float
    base_usd: float
    high_usd: float
    layout_usd: float


class Rent(Strict):
    """The layout's accelerators rented over the horizon, beside what its accelerator servers cost."""

    lines: tuple[RentLine, ...]
    without_quote: tuple[str, ...]
    rule: str


class ApiPlan(Strict):
    """The tokens of one class at one price plan, by kind (USD)."""

    plan: str
    cached_usd: float
    missed_usd: float
    output_usd: float
    source: str
    date: str

    @property
    def usd(self) -> float:
        """The whole bill."""
        return self.cached_usd + self.missed_usd + self.output_usd


class ApiClass(Strict):
    """One class: its part of the layout's cost, and its bill at every plan, the cheapest first."""

    cls: str
    model: str
    layout_usd: float
    plans: tuple[ApiPlan, ...]


class ApiBill(Strict):
    """The tokens of the horizon at the prices of public APIs, beside what the same tokens cost here."""

    classes: tuple[ApiClass, ...]
    without_price: tuple[str, ...]
    rule: str


class Comparisons(Strict):
    """Everything beside a layout. `budget_s` was shared by the searches, `seconds` they took."""

    budget_s: float
    seconds: float
    baseline: Neighbour
    without: tuple[Neighbour, ...]
    error_band: ErrorBand
    rent: Rent
    api_bill: ApiBill
