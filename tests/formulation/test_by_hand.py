"""One row of every family worked out by hand from docs/formulation.md, in plain arithmetic.

The goldens notice any change; these say that what they hold is right. Numbers come from `small.py`; bytes are
in GB, writes in GB/s. Under write-through a column `kept[h,j]` counts in slots 1 to j, so its coefficient is
the sum over them; a copy that lies over a home adds to its own place and not once more to the home.
"""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.formulation import LAWS
from tests.formulation.lp_text import Text
from tests.formulation.small import EXCLUSIVE, POOLED, WRITE_THROUGH

Row = tuple[str, dict[str, float], str, float]

# Contexts of 10k: lambda_j I_j of the young and the old slot, the time they run, and what one weighs in time.
YOUNG, OLD, RUN = 10 * 45, 8 * 200, 10 * 20
Z, PSI, R = 3, 2, 0.1  # R is the slope per GB


def in_time(gb: float, contexts: float) -> float:
    """B x contexts + (z/2) r psi Q x contexts, with Q = 1.25 B^2."""
    return gb * contexts + Z / 2 * R * PSI * 1.25 * gb**2 * contexts


PLACE = Z / 2 / R  # GB a place (server, enclosure, instance) adds: (z/2)/r

# Returns per second in the young and the old slot, and past the last age: 4, 2.4, 0.1.
FOUND_YOUNG, FOUND_OLD, RETURNS, FIRSTS = 10 * 0.4, 8 * 0.3, 6.5, 10 - 6.5


def written(gb: float, found: float, *, slots: int, mean: bool = False) -> float:
    """returns new + firsts first + prefix (returns - found ones): new 0.1, first 0.6, prefix 0.8 of B."""
    returns, firsts = (6.1, 9 - 6.1) if mean else (RETURNS, FIRSTS)
    caught = (9 * 0.4, 8 * 0.3) if mean else (FOUND_YOUNG, FOUND_OLD)  # the old slot's rate is below the mean
    return gb * (returns * 0.1 + firsts * 0.6 + 0.8 * (returns - found * sum(caught[:slots])))


FILLS = ("10k|miss|-", "10k|hit|cxl", "10k|hit|dram", "10k|hit|dram_pool", "10k|hit|nvme", "10k|hit|storage")
ZIP, FIRST = "10k|hit|zip", "chat|first|-"


def on_prefill(value: float, zipped: float | None = None, first: float | None = None) -> dict[str, float]:
    """The same coefficient on every path of the prefill pool, but for the zipped hit and first requests."""
    others = {ZIP: value if zipped is None else zipped, FIRST: value if first is None else first}
    return {f"path[{way}|a/prefill]": c for way, c in {**dict.fromkeys(FILLS, value), **others}.items()}


def mixed(first: float, cxl: float, hbm: float, miss: float, hit: float) -> dict[str, float]:
    """Coefficients on the paths of the mixed pool; zeros are left out."""
    ways = (FIRST, "10k|hit|cxl", "10k|hit|hbm", "50k|miss|-", "50k|hit|dram")
    values = zip(ways, (first, cxl, hbm, miss, hit), strict=True)
    return {f"path[{way}|a/mixed]": c for way, c in values if c}


def servers(each: float, *builds: str, spares: float | None = None) -> dict[str, float]:
    """-each on the servers of some builds and +each on their spare, as in_use is less one spare a build."""
    found: dict[str, float] = {}
    for build in builds:
        found |= {f"servers[{build}]": -each, f"chosen[{build}]": each if spares is None else spares}
    return found


def kept(way: str, *coefficients: float) -> dict[str, float]:
    """Coefficients of one holding by slot."""
    return {f"kept[{way},{j}]": c for j, c in enumerate(coefficients, 1)}


WRITTEN = {
    "dram": kept("10k dram>dram", written(1, 0.9, slots=1), written(1, 0.9, slots=2)),
    "dram over storage": kept("10k dram>storage", written(1, 0.9, slots=1), written(1, 0.9, slots=2)),
    "storage": kept("10k storage>storage", written(1, 1.0, slots=1), written(1, 1.0, slots=2)),
    "cxl": kept("10k cxl>cxl", written(1, 1.0, slots=1), written(1, 1.0, slots=2)),
    "dram_pool": kept("10k dram_pool>dram_pool", written(1, 1.0, slots=1), written(1, 1.0, slots=2)),
    "nvme": kept("10k nvme>nvme", written(1, 0.9, slots=1), written(1, 0.9, slots=2)),
    "zip": kept("10k zip>zip", written(0.5, 1.0, slots=1), written(0.5, 1.0, slots=2)),
    "50k": {"kept[50k dram>dram,1]": 5 * (1 * 0.1 + (2 - 1) * 0.6 + 0.8 * (1 - 0.9 * 2 * 0.5))},
}
LOADED = {
    **on_prefill(0.9, zipped=0.45, first=0),
    **mixed(0, 0.9, 0, 0, 4.5),
    "path[10k|miss|-|a/prefill]": 0,
}
USER_SIZE = 6.0  # the largest coefficient of the row `memory`: a DRAM node of 6 TB


def joined(*parts: dict[str, float]) -> dict[str, float]:
    """The sum of several parts of a row."""
    total: dict[str, float] = {}
    for part in parts:
        for column, c in part.items():
            total[column] = total.get(column, 0.0) + c
    return {column: c for column, c in total.items() if c}


BY_HAND: dict[str, Row] = {
    "route_returns": (
        "route_returns[a,50k]",
        {"path[50k|miss|-|a/mixed]": 1, "path[50k|hit|dram|a/mixed]": 1, "option[a]": -1.0},
        "=", 0,
    ),
    # served from storage: the homes there, less those that DRAM lies over, of which 0.1 go astray and find it
    "route_hits": (
        "route_hits[a,10k,storage]",
        {
            "path[10k|hit|storage|a/prefill]": 1,
            **kept("10k storage>storage", -4, -(4 + 2.4)),
            **kept("10k dram>storage", 4 - 0.1 * 4, 6.4 - 0.1 * 6.4),
        },
        "<=", 0,
    ),
    "route_first": (
        "route_first[a,chat]",
        {"path[chat|first|-|a/prefill]": 1, "path[chat|first|-|a/mixed]": 1, "option[a]": -(12 - 6.5 - 1)},
        "=", 0,
    ),
    "serve_all_decode": (
        "serve_all_decode[a,10k]",
        {"decode[10k,a/decode]": 1, "decode[10k,a/mixed]": 1, "option[a]": -1},
        "=", 0,
    ),
    "decode_where_prefilled": (
        "decode_where_prefilled[chat,a/mixed]",
        {**mixed(1, 1, 1, 1, 1), "decode[10k,a/mixed]": -10, "decode[50k,a/mixed]": -2},
        "=", 0,
    ),
    "contexts_only_sink": (
        "contexts_only_sink[a,10k,storage,1]",
        {**kept("10k dram>storage", 1, 1), **kept("10k storage>storage", -1, -1)},
        "<=", 0,
    ),
    "contexts_split": ("contexts_split[a,50k]", {"kept[50k dram>dram,1]": 1, "option[a]": -1}, "<=", 0),
    "one_option": ("one_option[m]", {"option[a]": 1, "option[b]": 1}, "=", 1),
    "build_chosen": ("build_chosen[storage-node,now]",
                     {"servers[storage-node]": 1, "chosen[storage-node]": -5}, "<=", 0),
    "max_builds": ("max_builds[s,now]", {"chosen[s/4]": 1, "chosen[s/0]": 1}, "<=", 1),
    "spare_servers": ("spare_servers[s/4,now]", {"chosen[s/4]": 1, "servers[s/4]": -1}, "<=", 0),
    "instances_fit_servers": (
        "instances_fit_servers[s,now]",
        {"instances[a/prefill]": 8, "instances[a/decode]": 8, "instances[a/mixed]": 4,
         **servers(8, "s/4", "s/0")},
        "<=", 0,
    ),
    "servers_of_sku_total": (
        "servers_of_sku_total[s,now]",
        {"servers_of_sku[s]": 1, "servers[s/4]": -1, "servers[s/0]": -1},
        "=", 0,
    ),
    "servers_in_all_total": (
        "servers_in_all_total[now]",
        {"servers_in_all[now]": 1, "servers_of_sku[s]": -1, "servers_of_sku[r]": -1},
        "=", 0,
    ),
    "accelerators_of_model_total": (
        "accelerators_of_model_total[m,now]",
        {"accelerators_of_model[m]": 1, "instances[a/prefill]": -8, "instances[a/decode]": -8,
         "instances[a/mixed]": -3},
        "=", 0,
    ),
    # ms: weights 4 + overhead 2, of an iteration of 50 of which prefill takes a quarter; 10 x 10 sequences of
    # 1 GB and 10 x 2 of 5 GB read at 10 TB/s
    "decode_time": (
        "decode_time[a/mixed]",
        {"instances[a/mixed]": 4 + 2 + 1 - 50 * (1 - 0.25), "decode[10k,a/mixed]": 100 * (0.1 + 0.01),
         "decode[50k,a/mixed]": 20 * (0.5 + 0.05)},
        "<=", 0,
    ),
    "decode_flops": (
        "decode_flops[a/mixed]",
        {"instances[a/mixed]": 2 + 0.5 - 50 * (1 - 0.25), "decode[10k,a/mixed]": 100 * (0.03 + 0.004),
         "decode[50k,a/mixed]": 20 * (0.03 + 0.004)},
        "<=", 0,
    ),
    "decode_exchange": (
        "decode_exchange[a/mixed]",
        {"instances[a/mixed]": 2 + 0.25 - 50 * (1 - 0.25), "decode[10k,a/mixed]": 100 * (0.02 + 0.003),
         "decode[50k,a/mixed]": 20 * (0.02 + 0.003)},
        "<=", 0,
    ),
    "prefill_time": (
        "prefill_time[a/mixed]",
        {"instances[a/mixed]": -0.7 * 0.25, **mixed(0.05, 0.02, 0.02, 0.8, 0.08)},
        "<=", 0,
    ),
    # r = 2e-11 per byte: 0.02 per GB; Q = 1.1 B^2; (z/2)/r = 75 GB an instance
    "running_kv_fits_hbm": (
        "running_kv_fits_hbm[a/mixed]",
        {
            "instances[a/mixed]": 1.5 / 0.02 - 150,
            "decode[10k,a/mixed]": 100 * 1 + 1.5 * 0.02 * 2 * 100 * 1.1 * 1,
            "decode[50k,a/mixed]": 20 * 5 + 1.5 * 0.02 * 2 * 20 * 1.1 * 25,
        },
        "<=", 0,
    ),
    # two copies in HBM, no time while running; a prefix of 2 GB an instance; held = size x busy
    "hbm_room": (
        "hbm_room[hbm]",
        {
            **kept("10k hbm>hbm", in_time(2, YOUNG), in_time(2, YOUNG + OLD)),
            "instances[a/prefill]": PLACE + 2 - 500,
            "instances[a/mixed]": PLACE + 2 - 150,
            "decode[10k,a/mixed]": 100 * 1,
            "decode[50k,a/mixed]": 20 * 5,
            **on_prefill(0.1, zipped=0.05, first=0.6 * 0.5),
            "path[10k|miss|-|a/prefill]": 1 * 1,
            **mixed(0.6 * 0.05, 1 * 0.02, 2 * 0.02, 5 * 0.8, 5 * 0.08),
        },
        "<=", 0,
    ),
    # the copy in DRAM and the one over storage alike; a prefix of 3 GB a node, host bytes, a fifth of
    # running KV
    "tier_capacity": (
        "tier_capacity[dram]",
        {
            **kept("10k dram>dram", in_time(1, YOUNG + RUN), in_time(1, YOUNG + RUN + OLD)),
            **kept("10k dram>storage", in_time(1, YOUNG + RUN), in_time(1, YOUNG + RUN + OLD)),
            "kept[50k dram>dram,1]": in_time(5, 2 * 300 + 2 * 30),
            "instances[a/prefill]": 20 + 3 * 1,
            "instances[a/decode]": 20,
            "instances[a/mixed]": 10 + 3 * 0.5,
            "decode[10k,a/decode]": 100 * 0.2,
            "decode[10k,a/mixed]": 100 * 0.2,
            "decode[50k,a/mixed]": 20 * 1.0,
            **servers(1800 - PLACE, "s/4", "s/0"),
        },
        "<=", 0,
    ),
    "one_age_per_lru_tier": (
        "one_age_per_lru_tier[dram,10k,2]",
        {"kept[10k dram>dram,2]": 1, "kept[10k dram>storage,2]": 1, "lru_share[dram,2]": -1},
        "=", 0,
    ),
    "tier_floor": ("tier_floor[dram]", {"servers[s/4]": -2000, "servers[s/0]": -2000}, "<=", -4000),
    "tier_ceiling": ("tier_ceiling[cxl]", {"modules[box]": 256}, "<=", 5000),
    # reads and writes share the modules' bandwidth
    "tier_read": (
        "tier_read[cxl]",
        {"path[10k|hit|cxl|a/prefill]": 0.9, "path[10k|hit|cxl|a/mixed]": 0.9, **WRITTEN["cxl"],
         "modules[box]": -0.7 * 25},
        "<=", 0,
    ),
    "tier_write": (
        "tier_write[storage]",
        {**WRITTEN["storage"], **WRITTEN["zip"], **servers(0.7 * 70, "storage-node")},
        "<=", 0,
    ),
    "host_link_read": (
        "host_link_read[a/prefill]",
        joined({**on_prefill(0.9, zipped=0.45, first=0), "path[10k|miss|-|a/prefill]": 0,
                "instances[a/prefill]": -0.8 * 400}),
        "<=", 0,
    ),
    "host_link_write": (
        "host_link_write[a]",
        {**{c: v for part in WRITTEN.values() for c, v in part.items()}, "instances[a/prefill]": -0.8 * 350,
         "instances[a/decode]": -0.8 * 350, "instances[a/mixed]": -0.8 * 130},
        "<=", 0,
    ),
    "host_link_sum": (
        "host_link_sum[a]",
        joined(LOADED, *WRITTEN.values(), {"instances[a/prefill]": -0.8 * 600,
               "instances[a/decode]": -0.8 * 600, "instances[a/mixed]": -0.8 * 220}),
        "<=", 0,
    ),
    # handed over: 10 contexts/s of 1 GB; experts: 7 MB a context
    "network_in": (
        "network_in[s]",
        {
            "path[10k|hit|dram_pool|a/prefill]": 0.9,
            "path[10k|hit|storage|a/prefill]": 0.9,
            "path[10k|hit|zip|a/prefill]": 0.45,
            "decode[10k,a/decode]": 10 * 1,
            "decode[10k,a/mixed]": 10 * 0.007,
            "decode[50k,a/mixed]": 2 * 0.007,
            **servers(0.75 * 90, "s/4", "s/0"),
        },
        "<=", 0,
    ),
    "network_out": (
        "network_out[now]",
        {**on_prefill(1, zipped=0.5, first=0.6), **WRITTEN["storage"], **WRITTEN["zip"],
         **WRITTEN["dram_pool"], **servers(0.75 * 90, "s/4", "s/0"), **servers(0.75 * 40, "r/0")},
        "<=", 0,
    ),
    "cxl_fabric": (
        "cxl_fabric[box]",
        {"path[10k|hit|cxl|a/prefill]": 0.9, "path[10k|hit|cxl|a/mixed]": 0.9, **WRITTEN["cxl"],
         "enclosures[box]": -0.7 * 300},
        "<=", 0,
    ),
    "cxl_ports": ("cxl_ports[box]", {"adapters[box,s]": 1, "enclosures[box]": -6}, "<=", 0),
    "cxl_connected": ("cxl_connected[box]", {"enclosures[box]": 1, "adapters[box,s]": -1}, "<=", 0),
    "cxl_slots": ("cxl_slots[box,s]", {"adapters[box,s]": 1, "hosts[box,s]": -2}, "<=", 0),
    "cxl_adapters": ("cxl_adapters[box,s]", {"hosts[box,s]": 1, "adapters[box,s]": -1}, "<=", 0),
    "cxl_hosts": ("cxl_hosts[s]", {"hosts[box,s]": 1, **servers(1, "s/4", "s/0")}, "<=", 0),
    "cxl_modules": ("cxl_modules[box]", {"modules[box]": 1, "enclosures[box]": -16}, "<=", 0),
    "cxl_read": (
        "cxl_read[box,s]",
        {"path[10k|hit|cxl|a/prefill]": 0.9, "path[10k|hit|cxl|a/mixed]": 0.9, "adapters[box,s]": -0.7 * 50},
        "<=", 0,
    ),
    "cxl_write": ("cxl_write[box]", {**WRITTEN["cxl"], "adapters[box,s]": -0.7 * 30}, "<=", 0),
    # busy x nodes / (rho phi): a whole server at rho = 0.7, half a server at rho phi = 0.7 x 0.25
    "cxl_attached": (
        "cxl_attached[box,s]",
        {"path[10k|hit|cxl|a/prefill]": 0.1 / 0.7, "path[10k|hit|cxl|a/mixed]": 0.02 * 0.5 / (0.7 * 0.25),
         "hosts[box,s]": -1},
        "<=", 0,
    ),
    # TB: GB/s x 1e8 s x 1.2 / 1000
    "nvme_endurance": (
        "nvme_endurance[nvme]",
        {
            **kept("10k nvme>nvme", *(written(1, 0.9, slots=j, mean=True) * 1.2e5 for j in (1, 2))),
            **servers(200_000, "s/4"),
            "replaced[s/4]": -200_000 / 4,
        },
        "<=", 0,
    ),
    "drives_replaced": ("drives_replaced[storage-node]",
                        {"replaced[storage-node]": 1, "servers[storage-node]": -20 * 24}, "<=", 0),
    "ttft_attainment": (
        "ttft_attainment[chat]",
        {**on_prefill(-0.99, first=-0.8), "path[10k|miss|-|a/prefill]": -0.8,
         **mixed(-0.8, -0.99, -0.99, -0.8, -0.99)},
        "<=", -0.85 * 12,
    ),
    "power": (
        "power[now]",
        {"servers[s/4]": 9, "servers[s/0]": 8.9, "servers[r/0]": 5, "servers[dram-node]": 1.2,
         "servers[storage-node]": 1.4, "enclosures[box]": 0.8, "modules[box]": 0.02, "adapters[box,s]": 0.03},
        "<=", 200,
    ),
    "rack_space": (
        "rack_space[now]",
        {"servers[s/4]": 8, "servers[s/0]": 8, "servers[r/0]": 4, "servers[dram-node]": 2,
         "servers[storage-node]": 2, "enclosures[box]": 4},
        "<=", 120,
    ),
    "budget": (
        "budget[now]",
        {"servers[s/4]": 300, "servers[s/0]": 275, "servers[r/0]": 60, "servers[dram-node]": 80,
         "servers[storage-node]": 90, "enclosures[box]": 30, "modules[box]": 3, "adapters[box,s]": 1,
         "owned_used[s]": -250},
        "<=", 6000,
    ),
    "supply": ("supply[s,now]", {"servers_of_sku[s]": 1}, "<=", 9 + 1),
    "server_maximum": ("server_maximum[r,now]", {"servers_of_sku[r]": 1}, "<=", 6),
    "server_minimum": ("server_minimum[s,now]", {"servers_of_sku[s]": -1}, "<=", -1),
    "node_limits": ("node_limits[dram-node,min]", {"servers[dram-node]": -1}, "<=", -1),
    "minimum_order": (
        "minimum_order[s,least]",
        {"ordered[s]": 3, "servers_of_sku[s]": -1, "owned_used[s]": 1},
        "<=", 0,
    ),
    "owned_used_limit": ("owned_used_limit[s,now]", {"owned_used[s]": 1, "servers_of_sku[s]": -1}, "<=", 0),
    # TB of DRAM and CXL less 0.2 a GPU, 8 GPUs a server, at least 1
    "user": (
        "user[memory,min]",
        {"servers[s/4]": -2 / USER_SIZE, "servers[s/0]": -2 / USER_SIZE, "servers[dram-node]": -6 / USER_SIZE,
         "modules[box]": -0.256 / USER_SIZE,
         "servers_of_sku[s]": 0.2 * 8 / USER_SIZE},
        "<=", -1 / USER_SIZE,
    ),
}  # fmt: skip


def chain(place: str, *coefficients: float, of: str = "share") -> dict[str, float]:
    """Coefficients of one place of the exclusive chain by slot; entries begin at the second."""
    first = 2 if of == "entry" else 1
    return {f"{of}[10k {place}>s,{j}]": c for j, c in enumerate(coefficients, first)}


EXCLUSIVE_BY_HAND: dict[str, Row] = {
    "route_hits": (
        "route_hits[a,10k,dram]",
        {"path[10k|hit|dram|a/prefill]": 1, **chain("dram", -0.9 * FOUND_YOUNG, -0.9 * FOUND_OLD)},
        "<=", 0,
    ),
    "contexts_only_sink": (
        "contexts_only_sink[a,10k,dram,s,1]",
        {**chain("hbm", -1, 1), **chain("dram", -1, 1)},
        "<=", 0,
    ),
    "contexts_split": (
        "contexts_split[a,10k]",
        {**chain("hbm", 1), **chain("dram", 1), **chain("nvme", 1), "option[a]": -1},
        "<=", 0,
    ),
    "context_entry": (
        "context_entry[10k nvme>s,2]", {**chain("nvme", -1, 1), **chain("nvme", -1, of="entry")}, "<=", 0
    ),
    # no time while running (the copy leaves when its context runs), no margin at slope 0
    "tier_capacity": (
        "tier_capacity[nvme]", {**chain("nvme", YOUNG, OLD), **servers(56_000, "s/4")}, "<=", 0
    ),
    # every entry writes the whole context: all contexts at age 0, S = 0.6 of them 60 s later at the rate of 8
    "tier_write": (
        "tier_write[nvme]",
        {**chain("nvme", 10 * 1), **chain("nvme", 8 * 0.6, of="entry"), **servers(0.7 * 20, "s/4")},
        "<=", 0,
    ),
    "nvme_endurance": (
        "nvme_endurance[nvme]",
        {**chain("nvme", 9 * 1.2e5), **chain("nvme", 8 * 0.6 * 1.2e5, of="entry"), **servers(200_000, "s/4"),
         "replaced[s/4]": -50_000},
        "<=", 0,
    ),
}  # fmt: skip

# The servers' own DRAM supplies the pool and carries their own use; it counts one place a chosen node build.
POOLED_BY_HAND: dict[str, Row] = {
    "tier_capacity": (
        "tier_capacity[dram_pool]",
        {
            **kept("10k dram_pool>dram_pool", in_time(1, YOUNG + RUN), in_time(1, YOUNG + RUN + OLD)),
            "option[a]": 4,
            "instances[a/prefill]": 20,
            "instances[a/decode]": 20,
            "instances[a/mixed]": 10,
            "decode[10k,a/decode]": 20,
            "decode[10k,a/mixed]": 20,
            "decode[50k,a/mixed]": 20,
            **servers(1800, "s/4", "s/0", spares=1800 + PLACE),
            "chosen[r/0]": PLACE,
            **servers(5500, "dram-node", spares=5500 + PLACE),
        },
        "<=", 0,
    ),
    "tier_read": (
        "tier_read[dram_pool]",
        {"path[10k|hit|dram_pool|a/prefill]": 0.9, **servers(0.7 * 90, "s/4", "s/0", "r/0"),
         **servers(0.7 * 85, "dram-node")},
        "<=", 0,
    ),
}  # fmt: skip

CASES: dict[str, tuple[Any, dict[str, Row]]] = {
    "write-through": (WRITE_THROUGH, BY_HAND),
    "exclusive": (EXCLUSIVE, EXCLUSIVE_BY_HAND),
    "pooled": (POOLED, POOLED_BY_HAND),
}
TEXTS = {name: Text(instance) for name, (instance, _) in CASES.items()}


@pytest.mark.parametrize(
    ("case", "family"), [(case, family) for case, (_, rows) in CASES.items() for family in rows]
)
def test_row_is_what_a_hand_makes_it(case: str, family: str) -> None:
    name, terms, sense, right = CASES[case][1][family]
    rows = {row: (found, how, side) for row, found, how, side in TEXTS[case].rows(family)}
    found, how, side = rows[name]
    assert found == pytest.approx(terms, rel=1e-12), name
    assert (how, side) == (sense, pytest.approx(right, rel=1e-12))


def test_every_family_was_worked_out() -> None:
    assert {law.row for law in LAWS} == {family for _, rows in CASES.values() for family in rows}
