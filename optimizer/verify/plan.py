"""What the laws share: the decisions grouped, and the quantities derived from them.

Symbols, as in docs/formulation.md:

    a option, m model, w bucket, W class, j age slot (rate lambda_j, drop dS_j, integral I_j)
    l location, sigma store, h holding (serve k, home d), p pool, u build, s SKU, e enclosure, i path
    N = instances[p]; T_run = Bucket.run_seconds; B, Q = Stored.bytes, Stored.square
    psi = Instance.dispersion, z = Instance.quantile, r = slope of a store or pool
    t period; theta = Pool.iteration, phi = Pool.prefill_share, rho = Pool.design_load
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property

from optimizer.instance.layout import CxlRow
from optimizer.instance.types import Case, Holding, Instance, Policy, Pool, Role, Tier
from optimizer.verify.accounts import Account, accounts
from optimizer.verify.amounts import NOTHING, Amount, product, together, total
from optimizer.verify.reading import Decisions, Decoded, Placed, Routed
from optimizer.verify.tables import Tables
from optimizer.verify.writes import writes

ZERO = Fraction(0)
NO_CXL = CxlRow("", 0, 0, (), 0.0)


class Plan:
    """A layout's decisions beside the instance's tables."""

    def __init__(self, tables: Tables, decisions: Decisions):
        self.tables = tables
        self.decisions = decisions
        self.instance: Instance = tables.instance
        self.t = tables.period.id
        self.exclusive = self.instance.policy is Policy.EXCLUSIVE

    # ---- machines ------------------------------------------------------------------------------------

    def option(self, option: str) -> Fraction:
        """option[a]."""
        return self.decisions.options.get(option, ZERO)

    def servers(self, build: str) -> Fraction:
        """servers[u]."""
        bought = self.decisions.bought.get(build)
        return bought.count if bought else ZERO

    def chosen(self, build: str) -> Fraction:
        """chosen[u]: whether any is bought."""
        return Fraction(self.servers(build) > 0)

    def in_use(self, build: str) -> Fraction:
        """in_use[u] = servers[u] - spares chosen[u]."""
        return self.servers(build) - self.instance.limits.spares * self.chosen(build)

    def servers_of_sku(self, sku: str) -> Fraction:
        """servers_of_sku[s] = sum of servers[u]."""
        return sum((self.servers(build.id) for build in self.tables.builds_of_sku[sku]), ZERO)

    def sku_in_use(self, sku: str) -> Fraction:
        """in_use[s] = sum of in_use[u]."""
        return sum((self.in_use(build.id) for build in self.tables.builds_of_sku[sku]), ZERO)

    def instances(self, pool: str) -> Fraction:
        """N of a pool."""
        running = self.decisions.running.get(pool)
        return running.instances if running else ZERO

    def cxl(self, enclosure: str) -> CxlRow:
        """The row of an enclosure kind; zeros if it is not bought."""
        return self.decisions.cxl.get(enclosure, NO_CXL)

    def prefilling(self, pools: Iterable[Pool]) -> list[Pool]:
        """The pools that prefill: prefill and mixed."""
        return [pool for pool in pools if pool.role is not Role.DECODE]

    # ---- decisions grouped ---------------------------------------------------------------------------

    @cached_property
    def slots_of_holding(self) -> dict[Holding, dict[int, Placed]]:
        """The placements of every holding by slot."""
        groups: dict[Holding, dict[int, Placed]] = defaultdict(dict)
        for placed in self.decisions.placed:
            groups[placed.holding][placed.j] = placed
        return groups

    @cached_property
    def paths_on_pool(self) -> dict[str, list[Routed]]:
        """The paths prefilled on every pool."""
        groups: dict[str, list[Routed]] = defaultdict(list)
        for routed in self.decisions.routed:
            groups[routed.path.pool].append(routed)
        return groups

    @cached_property
    def hits_on_store(self) -> dict[str, list[Routed]]:
        """The hit paths that load from every store."""
        groups: dict[str, list[Routed]] = defaultdict(list)
        for routed in self.decisions.routed:
            if routed.path.case is Case.HIT and routed.path.location is not None:
                groups[self.tables.store_of(routed.path.location).id].append(routed)
        return groups

    def on_pool(self, pool: str, *weights: str) -> Amount:
        """Sum of sequences x decode x the named weights of `Decode`, over the buckets decoded on a pool."""
        return total(
            product(item.share, item.decode.sequences, *(getattr(item.decode, weight) for weight in weights))
            for item in self.decoded_on_pool[pool]
        )

    @cached_property
    def decoded_on_pool(self) -> dict[str, list[Decoded]]:
        """The buckets decoded on every pool."""
        groups: dict[str, list[Decoded]] = defaultdict(list)
        for item in self.decisions.decoded:
            groups[item.decode.pool].append(item)
        return groups

    # ---- contexts ------------------------------------------------------------------------------------

    def in_hbm(self, location: str) -> bool:
        """Whether a location is in HBM."""
        return self.tables.locations[location].tier is Tier.HBM

    def context_seconds(self, placed: Placed, location: str) -> Fraction:
        """Live contexts at one copy of a holding: lambda_j I_j share, and in slot 1, outside HBM, while the
        request runs, lambda_w T_run share. Exclusive: the copy leaves when its context runs."""
        contexts = product(placed.share, placed.slot.rate, placed.slot.integral)
        if placed.j == 1 and not self.exclusive and not self.in_hbm(location):
            contexts += product(placed.share, placed.bucket.rate, placed.bucket.run_seconds)
        return contexts

    def found_terms(self, placed: Placed) -> Iterator[tuple[str, Fraction]]:
        """found[a,w,l]: lambda_j dS_j share (found_h at the serving place, found_home_h at the home)."""
        returns = product(placed.share, placed.slot.rate, placed.slot.drop)
        yield placed.holding.serve, returns * Fraction(placed.holding.found)
        if placed.holding.found_home:
            yield placed.holding.home, returns * Fraction(placed.holding.found_home)

    @cached_property
    def found(self) -> dict[tuple[str, str, str], Amount]:
        """found[a,w,l], returns per second that find their context."""
        terms: dict[tuple[str, str, str], list[Fraction]] = defaultdict(list)
        for placed in self.decisions.placed:
            for location, rate in self.found_terms(placed):
                terms[placed.holding.option, placed.holding.bucket, location].append(rate)
        return {key: total(rates) for key, rates in terms.items()}

    @cached_property
    def occupancy(self) -> dict[str, tuple[Amount, Amount]]:
        """mean = sum B time and V = psi sum Q time of every store."""
        contexts: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
        for placed in self.decisions.placed:
            for location in self.tables.copies(placed.holding):
                key = (placed.holding.option, placed.holding.bucket, location)
                contexts[key] += self.context_seconds(placed, location)
        means: dict[str, list[Fraction]] = defaultdict(list)
        squares: dict[str, list[Fraction]] = defaultdict(list)
        for key, time in contexts.items():
            store = self.tables.store_of(key[2]).id
            means[store].append(product(time, self.tables.stored[key].bytes))
            squares[store].append(product(time, self.tables.stored[key].square, self.instance.dispersion))
        return {store: (total(means[store]), total(squares[store])) for store in means}

    @cached_property
    def accounts(self) -> dict[str, Account]:
        """The account of every store."""
        return accounts(self)

    def margin(self, variance: Amount, count: Fraction, slope: float) -> Amount:
        """margin(V, n) = (z/2)(V r + n/r); none in a round without slope."""
        if not slope:
            return NOTHING
        half, exact = Fraction(self.instance.quantile) / 2, Fraction(slope)
        return total([half * variance.value * exact, half * count / exact])

    # ---- writes --------------------------------------------------------------------------------------

    @cached_property
    def peak_writes(self) -> dict[tuple[str, str], Amount]:
        """Bytes per second written at the peak, by (option, store)."""
        return writes(self, mean=False)

    @cached_property
    def mean_writes(self) -> dict[tuple[str, str], Amount]:
        """Bytes per second written on average, by (option, store)."""
        return writes(self, mean=True)

    def writes_to(self, store: str, *, mean: bool = False) -> Amount:
        """Bytes per second written to one store by all options."""
        amounts = self.mean_writes if mean else self.peak_writes
        return together(amount for (_, place), amount in amounts.items() if place == store)
