"""Chains in few pieces: nodes that follow one another, and that nobody asks for in another order, are one
stretch.

A recorded context grows turn by turn, and every turn is a node. As long as nothing branches off between two
nodes and the requests that ask for the first alone are over before any asks for both, a cache need not know
them apart: it holds the first so many nodes of the stretch, all touched at the same time. A chain is then a
stretch that many share, if any, and one of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optimizer.simulator.types import Flags, Ints, Replay

NONE = -1
NEVER = np.iinfo(np.int64).max


class Stretches(NamedTuple):
    """Nodes in the order of `order`: those of a stretch stand one after another, and stretch s is the nodes
    from first[s] to first[s+1] - 1 of it. Entries node[r] to node[r+1] - 1 of `stretch` are the chain of
    request r, root first, each asking for the first `asked` nodes; all but the last ask for all of them."""

    order: Ints
    first: Ints
    node: Ints
    stretch: Ints
    asked: Ints


def stretches(node: Ints, node_id: Ints, after: Ints, common: Flags) -> Stretches:
    """Join the nodes of chains (entries node[r] to node[r+1] - 1 of `node_id`, root first).

    `after`: the request that is surely over before each one comes (-1: none), an earlier one. Nodes of
    `common` are joined to their like only.
    """
    begins, follows = _joined(node, node_id, threads(after), common)
    heads = np.flatnonzero(begins)
    order, first = [], [0]
    for head in heads:
        at = int(head)
        while at != NONE:
            order.append(at)
            at = int(follows[at])
        first.append(len(order))
    entry = np.flatnonzero(begins[node_id])
    number = np.cumsum(begins) - 1
    begun = np.concatenate(([0], np.cumsum(begins[node_id])))
    return Stretches(
        np.array(order, np.int64), np.array(first, np.int64), begun[node].astype(np.int64),
        number[node_id[entry]].astype(np.int64), np.diff(entry, append=len(node_id)).astype(np.int64),
    )  # fmt: skip


def threads(after: Ints) -> Ints:
    """The first request of those that come one after another, for each."""
    thread = np.arange(len(after))
    for i in np.flatnonzero(after != NONE):
        thread[i] = thread[after[i]]
    return thread


def joined(replay: Replay) -> Replay:
    """The same requests, in as few stretches as can be."""
    whole = apart(replay)
    cut = stretches(whole.node, whole.node_id, whole.after, np.zeros(len(whole.node_tokens), np.bool_))
    return whole._replace(
        node=cut.node, node_id=cut.first[cut.stretch], node_count=cut.asked,
        node_tokens=whole.node_tokens[cut.order],
    )  # fmt: skip


def apart(replay: Replay) -> Replay:
    """The same requests, every node a stretch by itself."""
    ends = np.concatenate(([0], np.cumsum(replay.node_count))).astype(np.int64)
    ids = np.repeat(replay.node_id - ends[:-1], replay.node_count) + np.arange(ends[-1])
    return replay._replace(node=ends[replay.node], node_id=ids, node_count=np.ones(len(ids), np.int64))


def checked(replay: Replay) -> Replay:
    """The same. ValueError where a cache could not tell how much of a stretch is asked for at which time."""
    order = np.argsort(replay.node_id, kind="stable")
    first, count = replay.node_id[order], replay.node_count[order]
    thread = np.repeat(threads(replay.after), np.diff(replay.node))[order]
    again = first[1:] == first[:-1]
    begins = np.flatnonzero(np.concatenate((np.ones(min(1, len(first)), np.bool_), ~again)))
    if not len(begins):
        return replay
    longest = np.maximum.reduceat(count, begins)
    grows = longest > np.minimum.reduceat(count, begins)
    shared = np.maximum.reduceat(thread, begins) > np.minimum.reduceat(thread, begins)
    if (again & (count[1:] < count[:-1])).any() or (grows & shared).any():
        raise ValueError("a stretch is asked for in part after a request for more of it: cut it there")
    if (first[begins][:-1] + longest[:-1] > first[begins][1:]).any():
        raise ValueError("a stretch begins inside another: cut it there")
    return replay


def _joined(node: Ints, node_id: Ints, thread: Ints, common: Flags) -> tuple[Flags, Ints]:
    """Which nodes begin a stretch, and the next node of each one's stretch (-1: none).

    b is joined to a where nothing but b ever comes after a, and nothing but a before b; and where chains end
    at a, one thread alone asks for a, and is over with them before it asks for b.
    """
    nodes, row = len(common), np.repeat(np.arange(len(thread)), np.diff(node))
    lasts = np.zeros(len(node_id), np.bool_)
    firsts = lasts.copy()
    some = np.diff(node) > 0
    lasts[node[1:][some] - 1] = firsts[node[:-1][some]] = True
    before = np.where(firsts, NONE, np.roll(node_id, 1))
    goes_on = np.flatnonzero(~lasts)
    least_next, most_next = _ends(nodes, node_id[goes_on], node_id[goes_on + 1])
    least_before, most_before = _ends(nodes, node_id, before)
    least_thread, most_thread = _ends(nodes, node_id, thread[row])
    asked, _ = _ends(nodes, node_id, row)
    _, ended = _ends(nodes, node_id[lasts], row[lasts])
    a = np.flatnonzero(least_next == most_next)
    b = least_next[a]
    in_order = (ended[a] == NONE) | ((least_thread[a] == most_thread[a]) & (ended[a] < asked[b]))
    alone = (least_before[b] == a) & (most_before[b] == a)
    both = alone & in_order & (common[a] == common[b])
    begins, follows = np.ones(nodes, np.bool_), np.full(nodes, NONE, np.int64)
    begins[b[both]] = False
    follows[a[both]] = b[both]
    return begins, follows


def _ends(nodes: int, node: Ints, value: Ints) -> tuple[Ints, Ints]:
    """The least (none: NEVER) and the greatest (none: -1) of what stands beside each node."""
    least, most = np.full(nodes, NEVER), np.full(nodes, NONE, np.int64)
    np.minimum.at(least, node, value)
    np.maximum.at(most, node, value)
    return least, most
