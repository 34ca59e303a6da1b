"""Checks of traffic classes: shares, gaps, lengths, limits of time."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.files import Keys, alike
from optimizer.workload.checks.fault import Check, Fault
from optimizer.workload.schema import ContextBucket, Gaps, LogNormal, TrafficClass, Workload

SUM_TOLERANCE = 1e-6
RATE_TOLERANCE = 1e-3


def bucket_shares_sum_to_one(workload: Workload) -> Iterator[Fault]:
    """The shares of a class's context buckets sum to 1."""
    for keys, traffic in _classes(workload):
        total = sum(bucket.share for bucket in traffic.contexts)
        if abs(total - 1) > SUM_TOLERANCE:
            yield Fault((*keys, "contexts"), f"shares sum to {total:.6g}, not 1", _off_by(total))


def mixture_weights_sum_to_one(workload: Workload) -> Iterator[Fault]:
    """The weights of a mixture of gaps sum to 1."""
    for keys, gaps in _gaps(workload):
        total = sum(part.weight for part in gaps.mixture or ())
        if gaps.mixture and abs(total - 1) > SUM_TOLERANCE:
            yield Fault((*keys, "mixture"), f"weights sum to {total:.6g}, not 1", _off_by(total))


def mixture_parts_have_one_form(workload: Workload) -> Iterator[Fault]:
    """Each part of a mixture is either lognormal or exponential."""
    for keys, gaps in _gaps(workload):
        for index, part in enumerate(gaps.mixture or ()):
            if (part.lognormal is None) == (part.exponential is None):
                yield Fault((*keys, "mixture", index), "give exactly one of lognormal, exponential")


def gap_table_increases(workload: Workload) -> Iterator[Fault]:
    """A gap table is a distribution function: times increase, shares do not fall, none exceeds 1."""
    for keys, gaps in _gaps(workload):
        points = gaps.table or ()
        for index in range(1, len(points)):
            before, point = points[index - 1], points[index]
            here = (*keys, "table", index)
            if point.within <= before.within:
                yield Fault((*here, "within"), f"{point.within:g} s is not after {before.within:g} s",
                            "sort the table by time")
            if point.share < before.share:
                yield Fault((*here, "share"), f"falls from {before.share:g} to {point.share:g}",
                            "shares are cumulative")


def lognormal_gaps_are_plausible(workload: Workload) -> Iterator[Fault]:
    """The 90th percentile of a lognormal gap is at most a million times its median."""
    for keys, lognormal in _lognormals(workload):
        if lognormal.p90 > 1e6 * lognormal.median:
            yield Fault((*keys, "p90"), f"is {lognormal.p90 / lognormal.median:.3g} times the median",
                        "check the units of median and p90")


def first_share_agrees_with_returns(workload: Workload) -> Iterator[Fault]:
    """First requests are the requests that are not returns: sum share_b * return_b = 1 - first_share."""
    for keys, traffic in _classes(workload):
        stated = traffic.reuse.first_share
        if stated is None or abs(sum(b.share for b in traffic.contexts) - 1) > SUM_TOLERANCE:
            continue  # shares that do not sum to 1 are told by their own check
        returns = sum(b.share * _return_probability(traffic, b) for b in traffic.contexts)
        if abs(returns - (1 - stated)) > RATE_TOLERANCE:
            yield Fault((*keys, "reuse", "first_share"),
                        f"{stated:g} of the requests are first, yet {returns:.4g} are returns",
                        f"write {max(0.0, 1 - returns):.4g}, or leave it out")


def shared_prefix_fits(workload: Workload) -> Iterator[Fault]:
    """A shared prefix is shorter than every context that begins with it, and than the first prompt."""
    for keys, traffic in _classes(workload):
        if traffic.shared_prefix is None:
            continue
        prefix = traffic.shared_prefix.tokens
        for limit, what in ((_shortest(traffic), "shortest context"), (traffic.first_prompt, "first prompt")):
            if prefix >= limit:
                yield Fault((*keys, "shared_prefix", "tokens"),
                            f"{prefix:g} tok is not shorter than the {what} ({limit:g} tok)")


def first_prompt_fits_context(workload: Workload) -> Iterator[Fault]:
    """A first request, with its answer, is no longer than the longest stored context."""
    for keys, traffic in _classes(workload):
        longest = max(bucket.tokens for bucket in traffic.contexts)
        end = traffic.first_prompt + traffic.output_tokens
        if end > longest:
            yield Fault((*keys, "first_prompt"),
                        f"with its answer {end:g} tok, longer than the longest context ({longest:g} tok)",
                        "add a bucket for it")


def turn_fits_context(workload: Workload) -> Iterator[Fault]:
    """A stored context holds more than the last turn: new + output tokens are fewer than its length."""
    for keys, traffic in _classes(workload):
        turn = traffic.new_tokens + traffic.output_tokens
        for index, bucket in enumerate(traffic.contexts):
            if turn >= bucket.tokens:
                yield Fault((*keys, "contexts", index, "tokens"),
                            f"{bucket.tokens:g} tok do not hold a turn of {turn:g} tok (new + output)",
                            "bucket lengths are those at the end of a turn")


def discarded_fits_context(workload: Workload) -> Iterator[Fault]:
    """The tokens that are stored but not reused are fewer than the shortest context."""
    for keys, traffic in _classes(workload):
        discarded, shortest = traffic.reuse.discarded, _shortest(traffic)
        if discarded >= shortest:
            yield Fault((*keys, "reuse", "discarded"),
                        f"{discarded:g} tok leave nothing of a context of {shortest:g} tok")


def slo_is_plausible(workload: Workload) -> Iterator[Fault]:
    """TTFT between 10 ms and 1 h, TPOT between 0.1 ms and 10 s: beyond, a unit is wrong."""
    for keys, traffic in _classes(workload):
        for name, low, high in (("ttft", 1e-2, 3600.0), ("tpot", 1e-4, 10.0)):
            value = getattr(traffic.slo, name)
            if not low <= value <= high:
                yield Fault((*keys, "slo", name), f"{value:g} s is not between {low:g} s and {high:g} s",
                            "check the unit")


def named_models_carry_traffic(workload: Workload) -> Iterator[Fault]:
    """Options and measured rates are about models that some class uses."""
    used = {traffic.model for traffic in workload.classes.values()}
    named: list[tuple[Keys, str]] = [(("options", model), model) for model in workload.options]
    named += [(("measured", i, "model"), row.model) for i, row in enumerate(workload.measured)]
    for keys, model in named:
        if model not in used:
            near = alike(model, used)
            yield Fault(keys, f'no class uses a model "{model}"',
                        f"{near} or is it misspelt there" if near else f"in use: {', '.join(sorted(used))}")


CHECKS: tuple[Check, ...] = (
    bucket_shares_sum_to_one, mixture_weights_sum_to_one, mixture_parts_have_one_form, gap_table_increases,
    lognormal_gaps_are_plausible, first_share_agrees_with_returns, shared_prefix_fits,
    first_prompt_fits_context, turn_fits_context, discarded_fits_context, slo_is_plausible,
    named_models_carry_traffic,
)


def _classes(workload: Workload) -> Iterator[tuple[Keys, TrafficClass]]:
    for name, traffic in workload.classes.items():
        yield ("classes", name), traffic


def _gaps(workload: Workload) -> Iterator[tuple[Keys, Gaps]]:
    for keys, traffic in _classes(workload):
        yield (*keys, "reuse", "gaps"), traffic.reuse.gaps
        for index, bucket in enumerate(traffic.contexts):
            if bucket.gaps is not None:
                yield (*keys, "contexts", index, "gaps"), bucket.gaps


def _lognormals(workload: Workload) -> Iterator[tuple[Keys, LogNormal]]:
    for keys, gaps in _gaps(workload):
        if gaps.lognormal is not None:
            yield (*keys, "lognormal"), gaps.lognormal
        for index, part in enumerate(gaps.mixture or ()):
            if part.lognormal is not None:
                yield (*keys, "mixture", index, "lognormal"), part.lognormal


def _return_probability(traffic: TrafficClass, bucket: ContextBucket) -> float:
    own = bucket.return_probability
    return traffic.reuse.return_probability if own is None else own


def _shortest(traffic: TrafficClass) -> float:
    return min(bucket.tokens for bucket in traffic.contexts)


def _off_by(total: float) -> str:
    return f"{'add' if total < 1 else 'take away'} {abs(1 - total):.6g}"
