"""Every check refuses its fault, with the place and the words."""

from __future__ import annotations

import pytest

from optimizer.workload.checks import CHECKS

from .base import changed, load, refusals

GAPS = "lognormal: {median: 60 s, p90: 600 s}"
SERVERS = "    HGX-B300-8: {min: 1, max: 8, owned: 2, supply: 6}\n"
CASES: dict[str, list[tuple[tuple[str, str], str]]] = {
    "bucket_shares_sum_to_one": [
        (
            ("share: 0.4, return", "share: 0.3, return"),
            "10:5 classes.chat.contexts: shares sum to 0.9, not 1 (add 0.1)",
        ),
        (
            ("share: 0.4, return", "share: 0.400002, return"),
            "10:5 classes.chat.contexts: shares sum to 1, not 1 (take away 2e-06)",
        ),
    ],
    "mixture_weights_sum_to_one": [
        (
            (
                GAPS,
                "mixture: [{weight: 0.6, exponential: {mean: 5 s}}, {weight: 0.5, exponential: {mean: 9 s}}]",
            ),
            "18:9 classes.chat.reuse.gaps.mixture: weights sum to 1.1, not 1 (take away 0.1)",
        ),
    ],
    "mixture_parts_have_one_form": [
        (
            (GAPS, "mixture: [{weight: 0.5}, {weight: 0.5, exponential: {mean: 9 s}}]"),
            "18:19 classes.chat.reuse.gaps.mixture.0: give exactly one of lognormal, exponential",
        ),
    ],
    "gap_table_increases": [
        (
            (GAPS, "table: [{within: 9 s, share: 0.5}, {within: 9 s, share: 1}]"),
            "18:45 classes.chat.reuse.gaps.table.1.within: 9 s is not after 9 s (sort the table by time)",
        ),
        (
            (GAPS, "table: [{within: 9 s, share: 0.5}, {within: 10 s, share: 0.4}]"),
            "18:59 classes.chat.reuse.gaps.table.1.share: falls from 0.5 to 0.4 (shares are cumulative)",
        ),
    ],
    "lognormal_gaps_are_plausible": [
        (
            ("p90: 600 s", "p90: 5 years"),
            "18:35 classes.chat.reuse.gaps.lognormal.p90: is 2.63e+06 times the median "
            "(check the units of median and p90)",
        ),
    ],
    "first_share_agrees_with_returns": [
        (
            ("first_share: 0.28", "first_share: 0.4"),
            "15:7 classes.chat.reuse.first_share: 0.4 of the requests are first, yet 0.72 are returns "
            "(write 0.28, or leave it out)",
        ),
    ],
    "shared_prefix_fits": [
        (
            ("shared_prefix: {tokens: 1 ktok}", "shared_prefix: {tokens: 4 ktok}"),
            "19:21 classes.chat.shared_prefix.tokens: 4000 tok is not shorter than the shortest context "
            "(4000 tok)",
        ),
    ],
    "first_prompt_fits_context": [
        (
            ("first_prompt: 5 ktok", "first_prompt: 16 ktok"),
            "7:5 classes.chat.first_prompt: with its answer 16300 tok, longer than the longest context "
            "(16000 tok) (add a bucket for it)",
        ),
    ],
    "turn_fits_context": [
        (
            ("new_tokens: 1 ktok", "new_tokens: 3.7 ktok"),
            "11:8 classes.chat.contexts.0.tokens: 4000 tok do not hold a turn of 4000 tok (new + output) "
            "(bucket lengths are those at the end of a turn)",
        ),
    ],
    "discarded_fits_context": [
        (
            ("discarded: 100 tok", "discarded: 4 ktok"),
            "16:7 classes.chat.reuse.discarded: 4000 tok leave nothing of a context of 4000 tok",
        ),
    ],
    "slo_is_plausible": [
        (
            ("ttft: 2 s", "ttft: 2 ms"),
            "20:11 classes.chat.slo.ttft: 0.002 s is not between 0.01 s and 3600 s (check the unit)",
        ),
        (
            ("tpot: 50 ms", "tpot: 50 s"),
            "20:22 classes.chat.slo.tpot: 50 s is not between 0.0001 s and 10 s (check the unit)",
        ),
    ],
    "named_models_carry_traffic": [
        (
            ("kimi-k2: {only", "kimi-k3: {only"),
            '29:3 options.kimi-k3: no class uses a model "kimi-k3" (did you mean "kimi-k2"? or is it '
            "misspelt there)",
        ),
    ],
    "some_server_is_offered": [
        (
            (f"  servers:\n{SERVERS}", "  servers: {}\n"),
            "22:3 hardware.servers: names no server (name at least one, such as HGX-B300-8: {})",
        ),
        (
            ("{min: 1, max: 8, owned: 2, supply: 6}", "{max: 0}"),
            "22:3 hardware.servers: allows no server: every max is 0 (raise a max)",
        ),
    ],
    "min_within_max": [
        (
            ("{min: 1, max: 8, owned: 2, supply: 6}", "{min: 9, max: 8}"),
            "23:18 hardware.servers.HGX-B300-8.min: 9 is more than max 8",
        ),
    ],
    "owned_within_max": [
        (
            ("owned: 2", "owned: 9"),
            "23:34 hardware.servers.HGX-B300-8.owned: 9 is more than max 8 (raise max)",
        ),
    ],
    "supply_meets_min": [
        (
            ("{min: 1, max: 8, owned: 2, supply: 6}", "{min: 7, max: 8, owned: 2, supply: 4}"),
            "23:44 hardware.servers.HGX-B300-8.supply: owned 2 + supply 4 do not reach min 7",
        ),
    ],
    "hbm_is_enabled": [
        (
            ("hbm: {enabled: true}", "hbm: {enabled: false}"),
            "25:9 tiers.hbm.enabled: HBM cannot be disabled: running requests live in it",
        ),
    ],
    "hbm_has_no_floor": [
        (
            ("hbm: {enabled: true}", "hbm: {min_bytes: 1 TB}"),
            "25:9 tiers.hbm.min_bytes: is no choice: HBM comes with accelerators "
            "(set hardware.servers.*.min, or a row over accelerators under limits)",
        ),
    ],
    "tier_bytes_are_ordered": [
        (
            ("{max_bytes: 8 TB}", "{max_bytes: 8 TB, min_bytes: 9 TB}"),
            "26:27 tiers.dram.min_bytes: 9e+12 B is more than max_bytes",
        ),
        (
            ("cxl: {}", "cxl: {enabled: false, min_bytes: 1 TB}"),
            "27:25 tiers.cxl.min_bytes: forces in a tier that is disabled (enable it)",
        ),
    ],
    "affinity_is_local": [
        (
            ("cxl: {}", "cxl: {affinity: 0.9}"),
            "27:9 tiers.cxl.affinity: has no meaning for a pooled tier (leave it out)",
        ),
    ],
    "user_limits_are_well_formed": [
        (
            ("nvme: 1e-9", "nvmee: 1e-9"),
            '31:67 limits.gpus.terms.nvmee: is not a quantity (did you mean "nvme"?)',
        ),
        (
            ("servers.HGX-B300-8: 8,", "servers.: 8,"),
            "31:18 limits.gpus.terms.servers.: is not a quantity "
            "(one of: dram, cxl, nvme, power, servers.<id>, accelerators.<id>)",
        ),
        (
            ("{servers.HGX-B300-8: 8, accelerators.B300-SXM: 1, nvme: 1e-9, power: 0}", "{dram: 0}"),
            "31:10 limits.gpus.terms: every coefficient is 0 (give one a value)",
        ),
        (("min: 1, max: 64", "min: 65, max: 64"), "31:90 limits.gpus.min: 65 is more than max 64"),
    ],
    "power_of_a_contract_is_in_its_price": [
        (
            ("options:", "economics: {ownership: rent}\nprices: {electricity: $0.1/kWh}\noptions:"),
            "29:10 prices.electricity: is in the price per GPU-hour already: economics.ownership is rent "
            "(leave it out; what is bought beside draws at the catalogue's prices)",
        ),
        (
            ("options:", "economics: {ownership: lease}\nprices: {colocation: $150/kW-month}\noptions:"),
            "29:10 prices.colocation: is in the price per GPU-hour already: economics.ownership is lease "
            "(leave it out; what is bought beside draws at the catalogue's prices)",
        ),
        (
            ("options:", "economics: {ownership: lease, colocation_includes_energy: true}\noptions:"),
            "28:31 economics.colocation_includes_energy: is in the price per GPU-hour already: "
            "economics.ownership is lease "
            "(leave it out; what is bought beside draws at the catalogue's prices)",
        ),
        (
            ("options:", "economics: {ownership: rent}\nprices: {pue: 1.2}\noptions:"),
            "29:10 prices.pue: is in the price per GPU-hour already: economics.ownership is rent "
            "(leave it out; what is bought beside draws at the catalogue's prices)",
        ),
    ],
    "overhead_belongs_to_an_own_building": [
        (
            ("options:", "prices: {pue: 1.2}\noptions:"),
            "28:10 prices.pue: stands beside economics.space: colocation, whose rent contains it "
            "(set economics.space to owned-building, or leave it out)",
        ),
    ],
    "rent_belongs_to_colocation": [
        (
            (
                "options:",
                "economics: {space: owned-building}\nprices: {colocation: $150/kW-month}\noptions:",
            ),
            "29:10 prices.colocation: stands beside economics.space: owned-building "
            "(set economics.space to colocation, or leave it out)",
        ),
        (
            ("options:", "economics: {space: owned-building, colocation_includes_energy: true}\noptions:"),
            "28:36 economics.colocation_includes_energy: stands beside economics.space: owned-building "
            "(set economics.space to colocation, or leave it out)",
        ),
    ],
    "energy_is_paid_once": [
        (
            (
                "options:",
                "economics: {colocation_includes_energy: true}\nprices: {electricity: $0.1/kWh}\noptions:",
            ),
            "29:10 prices.electricity: is in the rent already: economics.colocation_includes_energy is true "
            "(leave one of them out)",
        ),
        (
            (
                "options:",
                "economics: {colocation_includes_energy: true}\nprices: {scale: {electricity: 2}}\noptions:",
            ),
            "29:18 prices.scale.electricity: is in the rent already: "
            "economics.colocation_includes_energy is true (leave one of them out)",
        ),
    ],
    "owned_age_is_of_owned_servers": [
        (
            ("options:", "economics: {owned_age: {HGX-B200-8: 2 years}}\noptions:"),
            "28:25 economics.owned_age.HGX-B200-8: names no server that is owned "
            '(did you mean "HGX-B300-8"?)',
        ),
        (
            ("options:", "economics: {owned_age: {HGX-B300-8: 90 years}}\noptions:"),
            "28:25 economics.owned_age.HGX-B300-8: 90 years is too old (check the unit)",
        ),
        (
            (
                "options:",
                "economics: {owned_age: {HGX-B300-8: 2 years}}\nfacility: {budget: $9M}\noptions:",
            ),
            "28:25 economics.owned_age.HGX-B300-8: is not planned beside facility.budget "
            "(leave one of them out)",
        ),
    ],
    "quantities_are_plausible": [
        (
            ("peak_rate: 20 req/s", "peak_rate: 1e12 req/s"),
            "6:5 classes.chat.peak_rate: 1e+12 req/s is more than is planned with (1e+09) "
            "(check the unit and the digits)",
        ),
        (
            ("max_bytes: 8 TB", "max_bytes: 1e-3 B"),
            "26:10 tiers.dram.max_bytes: 1e-12 GB is less than is planned with (1e-09) "
            "(check the unit and the digits)",
        ),
        (
            ("{min: 1, max: 8, owned: 2, supply: 6}", "{max: 100000000}"),
            "23:18 hardware.servers.HGX-B300-8.max: 1e+08 is more than is planned with (1e+07) "
            "(check the unit and the digits)",
        ),
        (
            ("min: 1, max: 64", "max: 1e-300"),
            "31:90 limits.gpus.max: 1e-300 is less than is planned with (1e-15) "
            "(check the unit and the digits)",
        ),
        (
            ("tiers:\n", "prices: {parts: {CMM-D-256: $1e20}}\ntiers:\n"),
            "24:18 prices.parts.CMM-D-256: 1e+20 $ is more than is planned with (1e+15) "
            "(check the unit and the digits)",
        ),
    ],
    "own_rows_are_balanced": [
        (
            ("servers.HGX-B300-8: 8, accelerators.B300-SXM: 1, nvme: 1e-9", "dram: 1e-9, nvme: 1e6"),
            "31:18 limits.gpus.terms.dram: counts for nothing beside nvme, whose term is about 1e+16 times "
            "as large (choose coefficients that make the terms of one size)",
        ),
    ],
}
FLAT = [(name, change, message) for name, cases in CASES.items() for change, message in cases]


def test_the_base_is_accepted() -> None:
    assert load().workload.name == "base"


def test_every_check_has_a_case() -> None:
    assert [check.__name__ for check in CHECKS] == list(CASES)


@pytest.mark.parametrize(("name", "change", "message"), FLAT, ids=[message for _, _, message in FLAT])
def test_refused(name: str, change: tuple[str, str], message: str) -> None:
    assert refusals(changed(change)) == [f"w.yaml:{message}"]


@pytest.mark.parametrize("name", list(CASES))
def test_only_its_own_check_speaks(name: str) -> None:
    """Each first case is found by the check it is filed under, and by no other."""
    document_change, _ = CASES[name][0]
    from optimizer.files import read_text_yaml, validate
    from optimizer.workload.schema import Workload

    workload = validate(Workload, read_text_yaml(changed(document_change), "w.yaml"))
    assert [check.__name__ for check in CHECKS if list(check(workload))] == [name]


def test_a_bucket_keeps_its_own_gaps_checked() -> None:
    found = refusals(
        changed(
            ("share: 0.6}", "share: 0.6, gaps: {table: [{within: 2 s, share: 1}, {within: 1 s, share: 1}]}}")
        )
    )
    assert found == [
        "w.yaml:11:77 classes.chat.contexts.0.gaps.table.1.within: 1 s is not after 2 s "
        "(sort the table by time)"
    ]


def test_all_faults_of_the_checks_come_at_once_in_the_order_of_the_file() -> None:
    found = refusals(
        changed(
            ("share: 0.4, return", "share: 0.3, return"),
            ("ttft: 2 s", "ttft: 2 h"),
            ("min: 1, max: 8,", "min: 9, max: 8,"),
        )
    )
    assert [text.split(" ")[0] for text in found] == [
        "w.yaml:10:5",
        "w.yaml:20:11",
        "w.yaml:23:18",
        "w.yaml:23:44",
    ]
