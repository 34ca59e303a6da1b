"""The arrays of a replay say what the layout and the cards say: bytes, accelerators, routes, tables."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from optimizer.instance import Case as Outcome
from optimizer.instance import Role, Tier
from optimizer.simulator.facility.packing import packed
from optimizer.simulator.types import Facility, Work
from optimizer.verify.accounts import own_use, shared_prefixes
from tests.instance.shipped import ALL_TIERS
from tests.simulator.bought import ON_B300, ON_TWO_B300, SMALL, Case, drawn, solved

SOLVED = [
    pytest.param(("tiny",), id="tiny"),
    pytest.param(("tiny", "tiers.policy=exclusive"), id="one copy"),
    pytest.param(("tiny", "tiers.dram.scope=pooled"), id="pooled DRAM"),
    pytest.param(("tiny", "tiers.dram.eviction=lru", "tiers.nvme.eviction=lru"), id="one age a cache"),
    pytest.param(("tiny", "hardware.spares=1", "hardware.servers.HGX-B300-8.owned=2"), id="owned and spare"),
    pytest.param((str(SMALL / "cxl-sharing.yaml"),), id="CXL"),
    pytest.param((str(SMALL / "cxl-latency.yaml"),), id="a DRAM pool"),
    pytest.param((str(SMALL / "tier-prices.yaml"),), id="flash"),
    pytest.param(ON_B300, id="small, offloaded"),
    pytest.param(ON_TWO_B300, id="small on two servers"),
    pytest.param(("small",), id="small", marks=pytest.mark.slow),
    pytest.param(("two-directions",), id="two-directions", marks=pytest.mark.slow),
]
ASTRAY = ("tiers.hbm.affinity=0.9", "tiers.dram.affinity=0.8", "tiers.nvme.affinity=0.7")
DRAWN = [
    *(pytest.param((seed, *ALL_TIERS, *ASTRAY), id=f"every tier, drawn {seed}") for seed in range(6)),
    *(
        pytest.param((seed, "small", "tiers.dram.scope=pooled"), id=f"small, pooled, drawn {seed}")
        for seed in range(2)
    ),
    *(
        pytest.param((seed, "six-models"), id=f"six-models, drawn {seed}", marks=pytest.mark.slow)
        for seed in range(6)
    ),
]


@pytest.fixture(params=SOLVED)
def answer(request: pytest.FixtureRequest) -> Case:
    """A solved layout."""
    return solved(*request.param)


@pytest.fixture(params=[*SOLVED, *DRAWN])
def case(request: pytest.FixtureRequest) -> Case:
    """A solved layout, or one that is drawn."""
    first, *_ = request.param
    return drawn(*request.param) if isinstance(first, int) else solved(*request.param)


# ---- form -------------------------------------------------------------------------------------------------


def test_arrays_are_what_the_event_loop_was_compiled_for(case: Case) -> None:
    facility, names = case.built
    for part in facility[:-1]:
        for field, array in part._asdict().items():
            assert array.dtype in (np.float64, np.int64, np.bool_), field
            assert array.flags.c_contiguous, field
            assert not np.isnan(array).any() if array.dtype == np.float64 else True, field
    pools, places, buckets = len(names.pools), len(names.locations), len(names.buckets)
    assert facility.work.wall.shape == (pools, len(facility.work.context), len(facility.work.fresh))
    assert facility.places.stored.shape == (buckets, places)
    assert facility.roads.rate.shape == (pools, places)
    assert len(facility.routes.route) == (buckets + len(names.classes)) * (places + 1) + 1
    assert facility.places.server_domain.shape == (len(facility.machines.server_sku), len(names.stores))


# ---- machines ---------------------------------------------------------------------------------------------


def test_instances_take_no_more_accelerators_than_a_server_has(case: Case) -> None:
    bought, taken = case.bought, defaultdict(float)
    for i, servers in enumerate(packed(bought)):
        pool = bought.pools[bought.pool_of_instance[i]]
        assert servers == tuple(range(servers[0], servers[0] + len(servers)))
        for v in servers:
            machine = bought.machines[v]
            assert not machine.spare
            assert bought.skus[machine.sku].id == pool.sku
            taken[v] += pool.gpus / len(servers)
    assert all(n <= bought.skus[bought.machines[v].sku].gpus for v, n in taken.items())


def test_every_machine_and_instance_is_there(case: Case) -> None:
    machines, names = case.built[0].machines, case.built[1]
    have = {row.pool: row.instances for row in case.layout.pools if row.instances}
    assert dict(zip(names.pools, np.diff(machines.pool_instance), strict=True)) == have
    builds = {build.id: build.sku for build in case.instance.builds}
    for s, sku in enumerate(names.skus):
        rows = [row for row in case.layout.servers if builds[row.build] == sku]
        assert np.count_nonzero(machines.server_sku == s) == sum(row.count for row in rows)
        assert np.count_nonzero(machines.server_spare[machines.server_sku == s]) == sum(r.spare for r in rows)
        order = [
            (m.spare, -m.build.drives, -m.build.dram_usable)
            for m in case.bought.machines
            if case.bought.skus[m.sku].id == sku
        ]
        assert order == sorted(order)  # prefill stands first where there is most to keep contexts in
    shapes = {pool.id: case.bought.offer.deployed[pool.shape].shape for pool in case.bought.pools}
    ranks = [shapes[names.pools[p]].data_parallel for p in machines.instance_pool]
    assert np.diff(machines.instance_rank).tolist() == ranks


def test_paces_and_rooms_are_those_of_the_pools(case: Case) -> None:
    machines, names = case.built[0].machines, case.built[1]
    options = {option.id: option for option in case.instance.options}
    pools = {pool.id: pool for pool in case.instance.pools}
    skus = {sku.id: sku for sku in case.instance.skus}
    tpot = {bucket.id: case.bought.classes[bucket.cls].tpot for bucket in case.instance.buckets}
    for p, name in enumerate(names.pools):
        pool = pools[name]
        assert machines.pool_prefills[p] == (pool.role is not Role.DECODE)
        assert machines.pool_decodes[p] == (pool.role is not Role.PREFILL)
        assert machines.pool_share[p] == pool.prefill_share
        assert (0 < pool.prefill_share < 1) == (pool.role is Role.MIXED)
        assert machines.pool_step_fixed[p] == pool.weights_seconds
        assert machines.pool_overhead[p] == pool.overhead
        iteration = machines.pool_step_limit[p] / (1 - pool.prefill_share or 1.0)
        assert iteration >= pool.iteration * (1 - 1e-12)
        for row in case.layout.decodes:
            if row.pool == name and row.share > 1e-12:
                pace = tpot[row.bucket] * options[pool.option].accepted_per_step
                assert iteration <= max(pool.iteration, pace) * (1 + 1e-12)
        assert machines.pool_accepted[p] == options[pool.option].accepted_per_step
        assert machines.pool_room[p] == pool.room
        assert (machines.instance_link[machines.instance_pool == p] == pool.link_read).all()
    for v, s in enumerate(machines.server_sku):
        assert machines.server_nic[v] == skus[names.skus[s]].nic_bytes_s


# ---- bytes ------------------------------------------------------------------------------------------------


def test_domains_hold_what_the_exact_check_leaves(case: Case) -> None:
    places, names = case.built[0].places, case.built[1]
    for s, name in enumerate(names.stores):
        store = case.plan.tables.stores[name]
        due = case.plan.accounts[name].usable.value - sum(shared_prefixes(case.plan, store), Fraction(0))
        if store.tier is not Tier.HBM:
            due -= sum(own_use(case.plan, store), Fraction(0))
        have = places.domain_bytes[places.store_domain[s] : places.store_domain[s + 1]]
        assert (have >= 0).all()
        assert have.sum() == pytest.approx(max(0.0, float(due)), rel=1e-9, abs=1.0), name


def test_bandwidth_and_drives_are_those_of_the_machines_in_use(case: Case) -> None:
    facility, names = case.built
    places, plan = facility.places, case.plan
    for s, name in enumerate(names.stores):
        assert places.store_lru[s] == plan.tables.stores[name].lru
        assert places.store_shared[s] == plan.tables.stores[name].shared_bandwidth
        store, mine = plan.tables.stores[name], slice(places.store_domain[s], places.store_domain[s + 1])
        builds = [(float(plan.in_use(b.id)), b) for b in plan.tables.suppliers(store)]
        if store.tier in (Tier.NVME, Tier.STORAGE):
            assert places.domain_read[mine].sum() == pytest.approx(sum(n * b.nvme_read for n, b in builds))
            assert places.domain_write[mine].sum() == pytest.approx(sum(n * b.nvme_write for n, b in builds))
            assert places.domain_drives[mine].sum() == sum(n * b.drives for n, b in builds)
        elif store.tier is Tier.DRAM:
            assert places.domain_read[mine].sum() == pytest.approx(sum(n * b.dram_bytes_s for n, b in builds))
        elif store.tier is Tier.DRAM_POOL:
            rate = sum(n * b.network_bytes_s for n, b in builds)
            assert places.domain_read[mine].sum() == pytest.approx(rate)
        elif store.tier is Tier.CXL:
            kind, row = plan.tables.enclosures[store.scope], plan.cxl(store.scope)
            most = (
                row.modules * kind.module_bytes_s,
                row.enclosures * kind.enclosure_bytes_s,
                sum(host.adapters for host in row.hosts) * kind.adapter_read,
            )
            assert 0 <= places.domain_read[mine].sum() <= min(most) * (1 + 1e-12)
            if mine.stop - mine.start == 1:
                assert places.domain_read[mine][0] == min(most)


def test_adapters_carry_what_modules_could() -> None:
    """An enclosure full of modules is read as fast as all its adapters together."""
    case = solved(str(SMALL / "cxl-sharing.yaml"))
    (row,), (kind,) = case.layout.cxl, case.instance.enclosures
    hosts = tuple(replace(host, adapters=2 * host.hosts) for host in row.hosts)
    full = replace(row, enclosures=1, modules=kind.module_slots, hosts=hosts)
    facility, names = Case(case.instance, replace(case.layout, cxl=(full,)), case.workload).built
    d = facility.places.store_domain[names.stores.index(f"cxl@{kind.id}")]
    adapters = sum(host.adapters for host in hosts)
    media = min(kind.module_slots * kind.module_bytes_s, kind.enclosure_bytes_s)
    assert adapters * kind.adapter_read < media
    assert facility.places.domain_read[d] == adapters * kind.adapter_read
    assert facility.places.domain_write[d] == min(media, adapters * kind.adapter_write)


def test_a_local_byte_has_one_address(case: Case) -> None:
    """Servers reach domains of stores of their own SKU, and every such domain is reached; nobody reaches a
    facility's store, or HBM, or anything as a spare."""
    facility, names = case.built
    places, spare = facility.places, facility.machines.server_spare
    for s, name in enumerate(names.stores):
        store, reach = case.plan.tables.stores[name], places.server_domain[:, s]
        every = set(range(places.store_domain[s], places.store_domain[s + 1]))
        assert (places.domain_store[list(every)] == s).all()
        if store.tier in (Tier.DRAM, Tier.NVME):
            assert {int(d) for d in reach if d >= 0} == every
            sku = names.skus.index(store.scope) if store.scope in names.skus else -1
            assert (facility.machines.server_sku[reach >= 0] == sku).all()
        elif store.tier is Tier.CXL:
            hosts = sum(host.hosts for host in case.plan.cxl(store.scope).hosts)
            assert np.count_nonzero(reach >= 0) == hosts
            assert {int(d) for d in reach if d >= 0} == every or not hosts
        else:
            assert (reach == -1).all()
        assert (reach[spare] == -1).all()
    kinds = [s for s, name in enumerate(names.stores) if case.plan.tables.stores[name].tier is Tier.CXL]
    assert ((places.server_domain[:, kinds] >= 0).sum(axis=1) <= 1).all()


def test_idle_contexts_lie_in_the_hbm_of_their_own_instance(case: Case) -> None:
    facility, names = case.built
    machines, places = facility.machines, facility.places
    roles = {pool.id: pool for pool in case.bought.pools}
    taken = []
    for i, p in enumerate(machines.instance_pool):
        pool, d = roles[names.pools[p]], machines.instance_domain[i]
        assert (d == -1) == (pool.role is Role.DECODE or f"hbm@{pool.shape}" not in names.stores)
        if d >= 0:
            taken.append(d)
            assert names.stores[places.domain_store[d]] == f"hbm@{pool.shape}"
            assert places.domain_bytes[d] <= pool.room
    assert len(set(taken)) == len(taken)


def test_weights_are_those_of_the_instance(case: Case) -> None:
    places, names = case.built[0].places, case.built[1]
    options = {row.model: row.option for row in case.layout.options}
    rows = {(row.option, row.bucket, row.location): row for row in case.instance.stored}
    for b, bucket in enumerate(case.instance.buckets):
        for k, location in enumerate(names.locations):
            row = rows.get((options[bucket.model], bucket.id, location))
            due = (row.bytes, row.new, row.first, row.prefix) if row else (0.0, 0.0, 0.0, 0.0)
            have = (places.stored[b, k], places.new[b, k], places.first[b, k], places.prefix[b, k])
            assert have == due


def test_slope_is_what_longer_contexts_weigh_more(answer: Case) -> None:
    """Between two buckets of one class the bytes differ by the slope times the tokens, but for the fixed
    parts of short contexts and whole entries."""
    places, buckets = answer.built[0].places, answer.instance.buckets
    for b, c in pairwise(range(len(buckets))):
        if buckets[b].cls == buckets[c].cls:
            more = buckets[c].tokens - buckets[b].tokens
            grown = places.stored[c] - places.stored[b]
            assert grown == pytest.approx(places.slope[b] * more, rel=5e-3, abs=1.0)


# ---- traffic ----------------------------------------------------------------------------------------------


def test_classes_are_the_declared_ones(case: Case) -> None:
    classes, names = case.built[0].classes, case.built[1]
    declared = case.workload.classes
    assert names.classes == tuple(declared)
    for c, (name, cls) in enumerate(declared.items()):
        mine = np.flatnonzero(classes.bucket_class == c)
        assert mine.tolist() == list(range(mine[0], mine[0] + len(cls.contexts)))
        assert classes.tokens[mine].tolist() == [bucket.tokens for bucket in cls.contexts]
        assert (classes.unused[mine] == cls.reuse.discarded).all()
        prefix = cls.shared_prefix
        assert classes.shared[c] == (prefix.tokens if prefix else 0.0), name
        assert (classes.shared_bytes[c] > 0) == (prefix is not None and prefix.held_in != "hbm")
    tiers = {loc.id: loc.tier for loc in case.instance.locations}
    for location, affinity in zip(names.locations, classes.affinity, strict=True):
        policy = getattr(case.workload.tiers, tiers[location].value)
        local = tiers[location] in (Tier.HBM, Tier.DRAM, Tier.NVME)
        assert affinity == (policy.affinity if local else 1.0)


# ---- routes -----------------------------------------------------------------------------------------------


def rows_of(facility: Facility, key: int) -> dict[int, float]:
    """Share of each pool at a key."""
    first, last = facility.routes.route[key], facility.routes.route[key + 1]
    cum = facility.routes.cum[first:last]
    assert not len(cum) or cum[-1] == 1.0
    return dict(zip(facility.routes.pool[first:last].tolist(), np.diff(cum, prepend=0.0), strict=True))


def test_routes_end_in_bought_pools_that_prefill_and_can_read(case: Case) -> None:
    facility, names = case.built
    bought, streams = case.bought, [*case.instance.buckets, *case.instance.classes]
    outcomes = len(names.locations) + 1
    for q, stream in enumerate(streams):
        for o in range(outcomes):
            shares = rows_of(facility, q * outcomes + o)
            assert bool(shares) == (o == 0 or q < len(names.buckets))
            assert all(share >= 0 for share in shares.values())
            for p in shares:
                if p < 0:
                    assert o > 0
                    continue
                pool = bought.pools[p]
                assert pool.role is not Role.DECODE
                assert pool.model == stream.model
                assert o == 0 or bought.reads(pool, bought.locations[o - 1])
                assert o == 0 or facility.roads.rate[p, o - 1] > 0


def test_routes_give_back_the_layouts_rates(case: Case) -> None:
    """Share of a pool x what is found (or served, if that is more) is the rate of its path; what is found and
    not served is computed again."""
    facility, names = case.built
    found = case.plan.found
    served: dict[tuple[str, str, str], float] = defaultdict(float)
    for row in case.layout.paths:
        served[row.stream, row.case, row.location] += row.rate
    outcomes = len(names.locations) + 1
    streams = [*names.buckets, *names.classes]
    for row in case.layout.paths:
        if row.location and row.location not in names.locations:
            continue
        o = names.locations.index(row.location) + 1 if row.location else 0
        total = served[row.stream, row.case, row.location]
        if row.case == Outcome.HIT:
            there = found.get((row.option, row.stream, row.location))
            total = max(total, float(there.value) if there else 0.0)
        share = rows_of(facility, streams.index(row.stream) * outcomes + o)[names.pools.index(row.pool)]
        assert share * total == pytest.approx(row.rate, rel=2e-6, abs=1e-9)


def test_what_a_layout_finds_and_does_not_load_is_computed_again(case: Case) -> None:
    """A copy of the layout without hits."""
    rows = tuple(row for row in case.layout.paths if row.case != Outcome.HIT)
    silent = Case(case.instance, replace(case.layout, paths=rows), case.workload)
    facility, names = silent.built
    found = {(bucket, place) for (_, bucket, place), rate in silent.plan.found.items() if rate.value > 1e-9}
    for b, bucket in enumerate(names.buckets):
        for k, place in enumerate(names.locations):
            shares = rows_of(facility, b * (len(names.locations) + 1) + 1 + k)
            if (bucket, place) in found:
                assert shares == {-1: 1.0}


def test_an_unplanned_miss_goes_where_it_is_quickest(case: Case) -> None:
    """A copy of the layout without misses: each bucket's go to one pool, the least wall of the admissible."""
    hits = tuple(row for row in case.layout.paths if row.case != Outcome.MISS)
    silent = Case(case.instance, replace(case.layout, paths=hits), case.workload)
    facility, names = silent.built
    pairs = zip(silent.bought.pools, silent.bought.deployments, strict=True)
    ranks = {pool.id: d.shape.data_parallel / (pool.prefill_share or 1.0) for pool, d in pairs}
    for b, bucket in enumerate(names.buckets):
        able = {
            names.pools.index(path.pool): path.busy * ranks[path.pool]
            for path in silent.instance.paths
            if path.stream == bucket and path.case is Outcome.MISS and path.pool in names.pools
        }
        shares = rows_of(facility, b * (len(names.locations) + 1))
        if able:
            assert len(shares) == 1
            (chosen,) = shares
            assert able[chosen] <= min(able.values()) * (1 + 1e-9)


def test_buckets_decode_on_pools_that_only_decode_where_there_are_any(case: Case) -> None:
    facility, names = case.built
    roles = {pool.id: pool.role for pool in case.bought.pools}
    for b, bucket in enumerate(names.buckets):
        first, last = facility.routes.decode[b], facility.routes.decode[b + 1]
        mine = [names.pools[p] for p in facility.routes.decode_pool[first:last]]
        rows = [row for row in case.layout.decodes if row.bucket == bucket and row.share > 1e-12]
        planned = {row.pool: row.share for row in rows}
        alone = {pool for pool in planned if roles[pool] is Role.DECODE}
        assert set(mine) == (alone or set(planned))
        shares = np.diff(facility.routes.decode_cum[first:last], prepend=0.0)
        total = sum(planned[pool] for pool in mine)
        assert shares == pytest.approx([planned[pool] / total for pool in mine])


def test_nothing_planned_is_lost_with_a_pool(answer: Case) -> None:
    """A copy of the layout in which one pool is gone: what it did goes to those that are left, and its HBM
    holds nothing."""
    for row in answer.layout.pools:
        if not row.instances:
            continue
        left = tuple(replace(r, instances=0 if r == row else r.instances) for r in answer.layout.pools)
        short = Case(answer.instance, replace(answer.layout, pools=left), answer.workload)
        facility, names = short.built
        assert row.pool not in names.pools
        for q, stream in enumerate([*answer.instance.buckets, *answer.instance.classes]):
            able = [p for p in short.bought.pools if p.model == stream.model and p.role is not Role.DECODE]
            shares = rows_of(facility, q * (len(names.locations) + 1))
            assert bool(shares) == bool(able)
            assert sum(shares.values()) == pytest.approx(1.0 if able else 0.0)
        for s, name in enumerate(names.stores):
            if name == f"hbm@{row.pool.rsplit('/', 1)[0]}":
                count = np.diff(facility.places.store_domain)[s]
                assert count == sum(
                    n for pool, n in short.bought.counts.items()
                    if f"hbm@{pool.rsplit('/', 1)[0]}" == name and "/decode" not in pool
                )  # fmt: skip


def test_a_tier_that_is_gone_has_no_domain(answer: Case) -> None:
    """A copy of the layout whose machines come without drives."""
    builds = {build.id: build for build in answer.instance.builds}
    bare = {b.sku: b.id for b in answer.instance.builds if b.sku and not b.drives}
    rows = tuple(replace(r, build=bare.get(builds[r.build].sku, r.build)) for r in answer.layout.servers)
    facility, names = Case(answer.instance, replace(answer.layout, servers=rows), answer.workload).built
    for s, name in enumerate(names.stores):
        if name.startswith("nvme@"):
            assert facility.places.store_domain[s] == facility.places.store_domain[s + 1]
            assert (facility.places.server_domain[:, s] == -1).all()


# ---- tables -----------------------------------------------------------------------------------------------


def at(axis: np.ndarray, value: float) -> int:
    """The place of a nominal length, which is on the axis."""
    place = int(np.argmin(abs(axis - value)))
    assert axis[place] == value
    return place


def looked_up(work: Work, table: np.ndarray, tokens: float) -> float:
    return float(table[at(work.context, tokens)])


def test_tables_are_exact_at_every_nominal_length(case: Case) -> None:
    """Every admissible path of a bought pool and every decode: the tables give its coefficients."""
    facility, names = case.built
    work = facility.work
    held = {loc.id: loc.tier for loc in case.instance.locations}
    looked = 0
    for path in case.instance.paths:
        if path.pool not in names.pools:
            continue
        p = names.pools.index(path.pool)
        pool, d = case.bought.pools[p], case.bought.deployments[p]
        wall = work.wall[p, at(work.context, path.cached), at(work.fresh, path.computed)]
        exchange = work.exchange[p] * path.computed / (d.accelerator.nic.value * d.gpus)
        assert path.busy == pytest.approx(
            max(wall * pool.prefill_share / d.shape.data_parallel, exchange), rel=1e-12
        )
        total = path.cached + path.computed
        assert path.sent == pytest.approx(looked_up(work, work.handed[p], total), rel=1e-12)
        if path.location is None or held[path.location] is Tier.HBM:
            assert path.held >= looked_up(work, work.idle[p], total) * wall * (1 - 1e-12)
        looked += 1
    assert looked
    classes = {bucket.id: case.bought.classes[bucket.cls] for bucket in case.instance.buckets}
    tokens = {bucket.id: bucket.tokens for bucket in case.instance.buckets}
    for row in case.instance.decodes:
        if row.pool not in names.pools:
            continue
        p = names.pools.index(row.pool)
        length, output = tokens[row.bucket], classes[row.bucket].output_tokens
        middle = length - output / 2
        for name, due, where in (
            ("running", row.hbm, length),
            ("memory", row.memory_seconds, middle),
            ("flops", row.flops_seconds, middle),
        ):
            assert looked_up(work, getattr(work, name)[p], where) == pytest.approx(due, rel=1e-12), name
        assert work.network[p] == pytest.approx(row.network_seconds, rel=1e-12)
        option = case.bought.pools[p].option
        for q, pool in enumerate(case.bought.pools):
            if pool.option == option and pool.role is Role.PREFILL and row.transfer:
                handed = looked_up(work, work.handed[q], length - output)
                assert handed == pytest.approx(row.transfer, rel=1e-12)


def test_between_nominal_lengths_tables_are_close(answer: Case) -> None:
    """In the middle of every cell: within 3% of the cards."""
    work, bought = answer.built[0].work, answer.bought
    for p, d in enumerate(bought.deployments):
        if bought.pools[p].role is Role.DECODE:
            continue
        share = bought.pools[p].prefill_share
        for a in range(0, len(work.context) - 1, 5):
            for n in range(1, len(work.fresh) - 1, 5):
                context, fresh = work.context[a : a + 2].mean(), work.fresh[n : n + 2].mean()
                due = d.wall(d.extend(context, context + fresh), fresh, share)
                assert work.wall[p, a : a + 2, n : n + 2].mean() == pytest.approx(due, rel=0.03)


# ---- roads ------------------------------------------------------------------------------------------------


def test_a_load_from_drives_is_sure_of_the_slowest_server(case: Case) -> None:
    facility, names = case.built
    for k, name in enumerate(names.locations):
        if name.startswith("nvme@"):
            for p, pool in enumerate(case.bought.pools):
                builds = [m.build for m in case.bought.machines if m.build.sku == pool.sku]
                slowest = min((b.nvme_read for b in builds if b.drives), default=0.0)
                assert facility.roads.rate[p, k] <= slowest or not slowest


def test_one_load_draws_no_more_than_its_device_and_its_links(answer: Case) -> None:
    facility, names = answer.built
    roads, paths = facility.roads, defaultdict(list)
    for path in answer.instance.paths:
        if path.pool in names.pools and path.location in names.locations and path.load > 0:
            paths[names.pools.index(path.pool), names.locations.index(path.location)].append(path)
    for (p, k), mine in paths.items():
        d = answer.bought.deployments[p]
        prefixed = any(c.shared_prefix for c in answer.workload.classes.values())
        if not prefixed:
            ratios = [path.link / path.load for path in mine]
            assert min(ratios) * (1 - 1e-9) <= roads.link[p, k] <= max(ratios) * (1 + 1e-9)
        assert roads.rate[p, k] * roads.link[p, k] <= d.accelerator.host_link.read.value * d.tp * (1 + 1e-12)
        assert roads.remote[k] == any(path.network > 0 for path in mine) or d.exchange(1.0) > 0
