"""Block ids made dense: numbered in order of their first appearance in the file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


class Labels:
    """Hands out 0, 1, 2, ... to ids as they appear.

    Most files number their blocks so already: such ids are their own labels and cost nothing. From the first
    one that is not, ids are looked up in a sorted table of 16 bytes a block.
    """

    def __init__(self) -> None:
        self.unique = 0
        self._own = 0  # ids below it are their own labels
        self._known: Ids = np.empty(0, dtype=np.int64)
        self._labels: Ids = np.empty(0, dtype=np.int64)

    @property
    def looked_up(self) -> int:
        """Blocks in the table."""
        return len(self._known)

    def are_dense(self, first: Ids, count: Ids) -> bool:
        """Whether the ids of the next runs of the file are their own labels. If so, they are taken."""
        if self._own < self.unique:
            return False
        seen = np.maximum.accumulate(np.concatenate(([self.unique], first + count)))
        if np.any(first > seen[:-1]):
            return False
        self.unique = self._own = int(seen[-1])
        return True

    def of(self, ids: Ids) -> Ids:
        """The labels of ids, the next of the file."""
        looked_up = ids >= self._own
        asked, place, inverse = np.unique(ids[looked_up], return_index=True, return_inverse=True)
        at = np.searchsorted(self._known, asked)
        old = np.zeros(len(asked), dtype=np.bool_)
        inside = at < len(self._known)
        old[inside] = self._known[at[inside]] == asked[inside]
        labels = np.empty(len(asked), dtype=np.int64)
        labels[old] = self._labels[at[old]]
        order = np.argsort(place[~old])
        fresh = np.empty(len(order), dtype=np.int64)
        fresh[order] = np.arange(self.unique, self.unique + len(order))
        labels[~old] = fresh
        self._known = np.insert(self._known, at[~old], asked[~old])
        self._labels = np.insert(self._labels, at[~old], fresh)
        self.unique += len(order)
        found = ids.copy()
        found[looked_up] = labels[inverse]
        return found


def run_starts(ids: Ids, owners: Ids) -> Ids:
    """Where runs of consecutive ids begin: also wherever a request does (`owners`: their first places)."""
    begins = np.ones(len(ids), dtype=np.bool_)
    begins[1:] = np.diff(ids) != 1
    begins[owners[owners < len(ids)]] = True
    return np.flatnonzero(begins)
