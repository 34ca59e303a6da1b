"""The value of money over time, and the two conversions every serving paper uses. USD before tax."""

from __future__ import annotations

import math

RESIDUAL_MONTHS = 36.0  # the age the residual fraction is quoted at; docs/physics.md section 8
SECONDS_PER_HOUR = 3600.0
SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR
TOKENS_PER_MILLION = 1e6


def discount(rate: float, years: float) -> float:
    """Present value of one dollar paid after `years` years at yearly `rate`: (1 + r)^-years."""
    return math.pow(1.0 + rate, -years)


def annuity(rate: float, years: float) -> float:
    """Present value of one dollar a year for `years` years, paid at year's end: (1 - (1+r)^-n) / r.

    `years` when the rate is 0. Its inverse is `capital_recovery`.
    """
    return (1.0 - discount(rate, years)) / rate if rate else years


def capital_recovery(rate: float, years: float) -> float:
    """Dollars a year that repay one dollar over `years` years: r / (1 - (1+r)^-n)."""
    return 1.0 / annuity(rate, years)


def renewed(yearly: float, rate: float, years: float, term: float, upfront: float) -> float:
    """Present value of a contract over `years`, renewed at the same price whenever `term` years end.

    A term of n years (the last is cut at the horizon) pays `upfront` of n*yearly at its start and the rest by
    the year: sum over terms of (1+r)^-t * yearly * (upfront*n + (1-upfront)*annuity(n)).
    """
    total, start = 0.0, 0.0
    while start < years:
        length = min(term, years - start)
        paid = upfront * length + (1.0 - upfront) * annuity(rate, length)
        total += discount(rate, start) * yearly * paid
        start += term
    return total


def financing(rate: float, years: float) -> float:
    """Cost of capital of one dollar that is paid so many years early: (1+r)^n - 1."""
    return math.pow(1.0 + rate, years) - 1.0


def residual(fraction_36_months: float, months: float) -> float:
    """Share of its price a machine is worth after `months` months: f^(months/36), f = the share at 36."""
    return math.pow(fraction_36_months, months / RESIDUAL_MONTHS)


def dollars_per_million_tokens(usd_per_hour: float, tokens_per_second: float) -> float:
    """USD per million tokens: usd_per_hour / (3600*tokens_per_second) * 1e6 (InferenceX)."""
    return usd_per_hour / (SECONDS_PER_HOUR * tokens_per_second) * TOKENS_PER_MILLION


def nodes_for(tokens_per_day: float, tokens_per_second: float) -> float:
    """Nodes of that rate, each, which a day's tokens keep busy: tokens / (86,400*rate). Not rounded."""
    return tokens_per_day / (SECONDS_PER_DAY * tokens_per_second)


def fleet_dollars_per_day(nodes: float, gpus_per_node: float, usd_per_gpu_hour: float) -> float:
    """USD a day for a fleet at a price per GPU-hour: nodes * gpus * price * 24."""
    return nodes * gpus_per_node * usd_per_gpu_hour * SECONDS_PER_DAY / SECONDS_PER_HOUR
