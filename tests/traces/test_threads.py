"""Which request continues which context."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from optimizer.errors import InputError
from optimizer.traces import Trace, read_trace
from optimizer.traces import threads as room
from optimizer.traces.threads import threads

from .synthetic import BLOCK, Request, trace


def previous(*requests: Request) -> list[int]:
    return threads(trace(requests)).previous.tolist()


def test_a_turn_finds_the_prompt_and_the_answer_before_it():
    made = threads(trace([
        Request(0, 250, 60, 7, [1, 2]),
        Request(9, 480, 10, 7, [1, 2, 3, 4]),
    ]))  # fmt: skip
    assert made.previous.tolist() == [-1, 0]
    assert made.following.tolist() == [1, -1]
    assert made.found.tolist() == [0, 250 + 60]
    assert made.shared == 0


def test_an_answer_longer_than_the_growth_was_not_sent_back():
    assert threads(trace([Request(0, 250, 60, 7, [1, 2]), Request(9, 300, 10, 7, [1, 2, 3])])).found[1] == 250


def test_a_prompt_cut_back_finds_its_blocks_and_no_answer():
    made = threads(trace([Request(0, 450, 60, 7, [1, 2, 3, 4]), Request(9, 440, 10, 7, [1, 2, 8, 9])]))
    assert made.previous[1] == 0
    assert made.found[1] == 200


@pytest.mark.parametrize(
    ("second", "returns"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], True),
        ([1, 2, 21, 22], True),  # half of its own
        ([1, 2, 21, 22, 23], False),  # two of five, and of eight
        ([1, 2, 3, 4, 21, 22, 23, 24, 25, 26], True),  # half of what is stored
        ([21, 22], False),
        ([1], True),
    ],
)
def test_in_a_session_half_is_enough(second, returns):
    first = Request(0, 800, 0, 3, [1, 2, 3, 4, 5, 6, 7, 8])
    assert (previous(first, Request(1, 100 * len(second), 0, 3, second))[1] == 0) is returns


def test_sessions_do_not_find_each_other():
    one, two = Request(0, 300, 0, 1, [1, 2, 3]), Request(1, 400, 0, 2, [1, 2, 3, 4])
    assert previous(one, two, Request(2, 500, 0, 1, [1, 2, 3, 4, 5])) == [-1, -1, 0]


def test_a_sub_agent_is_a_thread_beside_its_session():
    """It begins with the session's head, which is no return; its own next call is one."""
    main, more = [1, 2, 3, 4], [1, 2, 3, 4, 5, 6]
    made = previous(
        Request(0, 400, 0, 5, main),
        Request(1, 300, 0, 5, [1, 2, 11], sub=True),
        Request(2, 400, 0, 5, [1, 2, 11, 12], sub=True),
        Request(3, 300, 0, 5, [1, 2, 31], sub=True),  # a second one: half is common, but not all
        Request(4, 600, 0, 5, more),
    )
    assert made == [-1, -1, 1, -1, 0]


def test_a_sub_agent_that_begins_with_all_of_its_session_takes_nothing_over():
    """The session goes on in its own thread, though the sub-agent touched all of it last."""
    made = previous(
        Request(0, 400, 0, 5, [1, 2, 3, 4]),
        Request(1, 500, 0, 5, [1, 2, 3, 4, 11], sub=True),
        Request(2, 400, 0, 5, [1, 2, 3, 4]),
        Request(3, 600, 0, 5, [1, 2, 3, 4, 11, 12], sub=True),
        Request(4, 500, 0, 5, [1, 2, 3, 4, 5]),
    )
    assert made == [-1, -1, 0, 1, 2]


def test_without_sessions_the_chain_extended_furthest_is_continued():
    made = previous(
        Request(0, 200, 0, -1, [1, 2]),
        Request(1, 300, 0, -1, [1, 2, 3]),
        Request(2, 300, 0, -1, [1, 2, 4]),  # extends (1, 2), whose thread (1, 2, 3) has gone on with
        Request(3, 500, 0, -1, [1, 2, 4, 5, 6]),
        Request(4, 300, 0, -1, [1, 9, 10]),  # no more than a head
        Request(5, 300, 0, -1, [20, 21, 22]),
    )
    assert made == [-1, 0, 1, 2, -1, -1]


def test_without_sessions_a_partial_last_block_is_not_asked_for():
    """Mooncake's chains count a partial block, whose id changes as soon as it grows."""
    assert previous(Request(0, 250, 0, -1, [1, 2, 3]), Request(1, 400, 0, -1, [1, 2, 4, 5])) == [-1, 0]
    assert previous(Request(0, 300, 0, -1, [1, 2, 3]), Request(1, 400, 0, -1, [1, 2, 4, 5])) == [-1, -1]


def test_what_all_sessions_begin_with_is_shared_and_proves_no_return():
    """Two of four blocks are found in the own session, yet they are the ones that everybody has."""
    begun = [Request(s, 300, 0, s, [1, 2, 10 + s]) for s in range(4)]
    again = Request(9, 400, 0, 0, [1, 2, 31, 32])
    more = Request(10, 400, 0, 1, [1, 2, 11, 41])
    made = threads(trace([*begun, again, more]))
    assert made.shared == 200
    assert made.previous.tolist() == [-1] * 5 + [1]


def test_two_sessions_alike_share_nothing():
    """Shared is what nearly all of at least three have."""
    assert threads(trace([Request(s, 300, 0, s, [1, 2, 3]) for s in range(2)])).shared == 0


def test_lengths_and_sessions_are_enough():
    made = threads(trace([
        Request(0, 500, 50, 1), Request(1, 300, 10, 1, sub=True), Request(2, 700, 20, 1),
        Request(3, 400, 0, 1, sub=True), Request(4, 600, 0, 1), Request(5, 100, 0),
    ]))  # fmt: skip
    assert made.previous.tolist() == [-1, -1, 0, 1, 2, -1]
    assert made.found.tolist() == [0, 0, 550, 310, 600, 0]


def test_lengths_alone_tell_nothing():
    with pytest.raises(InputError, match=r"made\.jsonl: records neither sessions nor blocks"):
        threads(trace([Request(0, 500), Request(1, 500)]))


@pytest.mark.parametrize(
    ("name", "sessions", "shared"),
    [
        ("weka_claude_code_60s_b512", 60, 0),  # ids are local to a session in its source
        ("lmcache_miniswe_b64", 20, 0),
        ("synthetic_agentic_aiperf_60s_b512", 63, 63 * 512),  # its generator's prefix of 32,000 tokens
        ("mooncake_conversation_0_20min", None, 512),
    ],
)
def test_of_the_shipped_traces(name, sessions, shared):
    recorded = read_trace(name)
    made = threads(recorded)
    assert made.shared == shared
    begun = ~made.returns
    if sessions is not None:
        assert len(np.unique(recorded.session[begun])) == len(np.unique(recorded.session)) == sessions
    after = made.returns
    assert (made.found[after] <= recorded.input[after]).all()
    assert (made.found[begun] == 0).all()
    assert (recorded.time[made.previous[after]] <= recorded.time[after]).all()
    before = made.previous[after]
    assert len(np.unique(before)) == len(before), "a context is returned to once, then it is another"
    assert (recorded.session[before] == recorded.session[after]).all()


def test_blocks_of_either_size_tell_the_same_threads():
    """64 and 512 tokens a block: the same sessions, cut more or less finely."""
    fine, coarse = (threads(read_trace(f"weka_claude_code_60s_b{size}")) for size in (64, 512))
    assert (fine.previous != coarse.previous).sum() <= 4
    assert fine.found.sum() == pytest.approx(coarse.found.sum(), rel=1e-3)


def by_definition(made: Trace) -> list[int]:
    """Threads as the words say it, every pair of requests compared; for traces without a shared prefix."""
    start, ids = made.chains.flat()
    chains = [ids[start[i] : start[i + 1]].tolist() for i in range(len(made))]
    thread, previous = list(range(len(made))), []
    for i, chain in enumerate(chains):
        earlier = [j for j in range(i) if (made.session[j], made.sub[j]) == (made.session[i], made.sub[i])]
        common = {j: next((k for k, (a, b) in enumerate(zip(chain, chains[j], strict=False)) if a != b),
                          min(len(chain), len(chains[j]))) for j in earlier}  # fmt: skip
        if made.session[i] == -1 or made.sub[i]:
            full = {j: len(chains[j]) - (len(chains[j]) * BLOCK > made.input[j]) for j in earlier}
            whole = [j for j in earlier if 0 < full[j] <= common[j]]
            parents = sorted(whole, key=lambda j: (full[j], j))
        else:
            deepest = max(common.values(), default=0)
            nearest = max((j for j in earlier if common[j] == deepest), default=-1)
            enough = deepest > 0 and 2 * deepest >= min(len(chain), len(chains[nearest]))
            parents = [nearest] if enough else []
        if parents:
            thread[i] = thread[parents[-1]]
        previous.append(max((j for j in range(i) if parents and thread[j] == thread[i]), default=-1))
    return previous


@pytest.mark.parametrize("sessions", [0, 1, 3])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_threads_are_what_the_words_say(sessions, seed):
    """Random trees of prompts: grown, cut back, begun again, by sub-agents or not, with a partial last block
    or not.

    Each user's chains begin with a block of their own, so that nothing is shared by all.
    """
    rng = np.random.default_rng(seed)
    children: dict[tuple[int, ...], int] = {}
    rows, chains = [], {user: [()] for user in range(max(1, sessions))}
    for time in range(25):
        user = int(rng.integers(max(1, sessions)))
        known = chains[user][int(rng.integers(len(chains[user])))]
        path = known[: int(rng.integers(len(known) + 1))] if rng.random() < 0.5 else known
        path += tuple(int(step) for step in rng.integers(0, 2, int(rng.integers(1, 4))))
        chains[user].append(path)
        prefixes = [(user, *path[:k]) for k in range(1, len(path) + 1)]
        blocks = [children.setdefault(prefix, len(children)) for prefix in prefixes]
        tokens = BLOCK * len(blocks) - (int(rng.integers(1, BLOCK)) if rng.random() < 0.4 else 0)
        rows.append(
            Request(time, tokens, 5, user if sessions else -1, blocks, sub=bool(sessions and rng.random() <
            0.3))
        )
    made = trace(rows)
    found = threads(made)
    assume(found.shared == 0)
    assert found.previous.tolist() == by_definition(made)
    assert found.following[found.previous[found.returns]].tolist() == np.flatnonzero(found.returns).tolist()


def test_uncompiled_the_passes_are_the_same(monkeypatch):
    """Of a trace with sessions and of one without."""
    names = ("lmcache_miniswe_b64", "mooncake_conversation_0_20min")
    quick = [threads(read_trace(name)) for name in names]
    for kernel in ("follow", "users"):
        compiled = getattr(room, kernel)
        monkeypatch.setattr(room, kernel, getattr(compiled, "py_func", compiled))
    for name, known in zip(names, quick, strict=True):
        plain = threads(read_trace(name))
        assert plain.shared == known.shared
        assert (plain.previous == known.previous).all()
        assert (plain.found == known.found).all()
