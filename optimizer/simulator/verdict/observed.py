"""What a replay saw, as a reader asks for it: requests of a class in the steady part, use of resources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from optimizer.simulator.engine.state import ARRIVED, FIRST, MISS, REJECTED, SERVED, Samples, State
from optimizer.simulator.types import Facility, Flags, Floats, Interval, Ints, Names
from optimizer.simulator.verdict.statistics import BATCHES, interval, steady, warmup

MATTERS = 0.05
"""A trend that moves the running sequences by less over the whole run is none."""
Z95 = 1.959963984540054
LATEST = 0.6
"""Share of the steady part at its end, at most, whose requests are left out because they have not ended."""


@dataclass(frozen=True)
class Observed:
    """A finished run and the steady part of it, [start, end) in seconds. What follows an outage is part of
    it: a server that fails early is no warm-up."""

    facility: Facility
    names: Names
    state: State
    samples: Samples
    end: float
    outage: float = math.inf

    @cached_property
    def requests(self) -> NDArray[Any]:
        """The rows of requests that arrived."""
        return self.state.request[: self.state.counts[ARRIVED]]

    @cached_property
    def running(self) -> Floats:
        """Sequences being decoded, mean over each sample interval."""
        area = self.samples.instance["sequence_area"].sum(axis=1)
        return np.diff(area, prepend=0.0) / np.diff(self.samples.time, prepend=0.0)

    @cached_property
    def start(self) -> float:
        """Where the warm-up ends: where the running sequences say so, and not before the first requests of
        a full facility have ended; at an outage at the latest."""
        lasted = self.requests["done"] - self.requests["arrival"]
        lasted = lasted[self.requests["state"] == SERVED]
        once = float(np.quantile(lasted, 0.95)) if len(lasted) else self.end
        first = warmup(self.running)
        begun = self.samples.time[first - 1] if first else 0.0
        return float(min(max(begun, once), 0.9 * self.end, self.outage))

    @cached_property
    def first_sample(self) -> int:
        """The last sample before the steady part."""
        return max(0, int(np.searchsorted(self.samples.time, self.start, side="right")) - 1)

    @cached_property
    def conclusive(self) -> bool:
        """Whether the steady part is steady and long enough: no trend in the running sequences."""
        if warmup(self.running) is None or self.start > 0.6 * self.end:
            return False
        part = self.running[self.first_sample + 1 :]
        means = np.array([piece.mean() for piece in np.array_split(part, min(BATCHES, len(part)))])
        return steady(means, MATTERS)

    def of_class(self, cls: int) -> NDArray[Any]:
        """The requests of a class that came in the steady part."""
        q = self.requests
        return q[(q["cls"] == cls) & (q["arrival"] >= self.start)]

    def share(self, rows: NDArray[Any], values: Floats | Flags, end: float) -> Interval:
        """The mean of `values` over rows that arrived before `end`, with the wider of two 95% intervals: by
        batches of time (requests that meet the same queue) and by sessions (requests of the same context)."""
        values = np.asarray(values, dtype=np.float64)
        found = interval(values, rows["arrival"], self.start, end)
        inside = rows["arrival"] < end
        return Interval(found.mean, max(found.half, by_session(rows["session"][inside], values[inside])))

    def until(self, rows: NDArray[Any], column: str, limit: float, allowed: float = 0.0) -> float:
        """The end of the part in which it is known what became of requests: `limit` seconds before the end,
        or what nearly all of them took; where none came so far, the seconds that they are `allowed`."""
        took = rows[column] - rows["arrival"]
        took = took[np.isfinite(took)]
        if not len(took):
            return max(self.start, self.end - max(limit, allowed))
        seen = float(np.quantile(took, 0.99))
        return self.end - min(max(seen, limit), LATEST * (self.end - self.start))

    # --- resources -----------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Length of the part that resources are judged on."""
        return float(self.samples.time[-1] - self.samples.time[self.first_sample])

    def grown(self, table: NDArray[Any], column: str) -> Floats:
        """What a running total of each row gained in the steady part, per second."""
        values = table[column]
        return np.asarray((values[-1] - values[self.first_sample]) / self.seconds)

    def written_error(self, store: str) -> float:
        """Half-width of the 95% interval of the bytes written to a store, relative, by batch means."""
        here = self.facility.places.domain_store == self.names.stores.index(store)
        written = np.diff(self.samples.device["written"][:, here].sum(axis=1))[self.first_sample :]
        batches = np.array([part.sum() for part in np.array_split(written, min(BATCHES, len(written)))])
        if len(batches) < 2 or not batches.any():
            return math.inf
        spread = float(batches.std(ddof=1)) / math.sqrt(len(batches))
        return float(stdtrit(len(batches) - 1, 0.975)) * spread / float(batches.mean())

    def most(self, values: Floats) -> float:
        """The largest sample of the steady part."""
        return float(values[self.first_sample + 1 :].max(initial=0.0))


def by_session(session: Ints, values: Floats) -> float:
    """Half-width of the 95% interval of a mean whose requests come in clusters, the sessions, which are
    independent: z sqrt(sum over sessions of (sum_s - mean n_s)^2) / n (a ratio estimate, linearised)."""
    if not len(values):
        return math.inf
    _, which = np.unique(session, return_inverse=True)
    residual = np.bincount(which, weights=values - values.mean())
    return Z95 * math.sqrt(float(residual @ residual)) / len(values)


def first_tokens(rows: NDArray[Any]) -> Floats:
    """Seconds to the first token; inf where it has not come."""
    return np.where(np.isnan(rows["first_token"]), np.inf, rows["first_token"] - rows["arrival"])


def per_token(rows: NDArray[Any]) -> Floats:
    """Seconds per output token after the first one came, waiting to be decoded included; inf: not ended."""
    seconds = (rows["done"] - rows["first_token"]) / np.maximum(rows["output"], 1.0)
    return np.where(np.isnan(seconds), np.inf, seconds)


def found_names(rows: NDArray[Any], tier_of: tuple[str, ...]) -> NDArray[Any]:
    """What each request found: a tier's name, `miss` or `first`."""
    words = np.array([*tier_of, "miss", "first"], dtype=object)  # -1 and -2 count from the end
    found = rows["found"].copy()
    found[found == MISS] = len(tier_of)
    found[found == FIRST] = len(tier_of) + 1
    return np.asarray(words[found])


def rejected(rows: NDArray[Any]) -> Flags:
    """Requests that nobody could serve."""
    return np.asarray(rows["state"] == REJECTED)
