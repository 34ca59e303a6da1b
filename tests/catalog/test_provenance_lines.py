"""`provenance:` once per block, written out to every figure below."""

from __future__ import annotations

import pytest

from optimizer.catalog import Drive
from optimizer.catalog.devices import Accelerator
from optimizer.catalog.provenance import complete, figures_in
from optimizer.errors import InputError
from optimizer.files import read_text_yaml, validate

DRIVE = """\
id: X
media: TLC
form_factors: [U.2]
provenance: {source: BRIEF, date: "2025", basis: vendor}
bytes: 7.68 TB
read: {value: 14 GB/s, basis: measured}
write: {value: 10 GB/s, source: OTHER, date: "2026-04-01", note: read elsewhere}
written_random: 14016 TB
power: 18 W
price: {low: $1, base: $2, high: $3, basis: estimated}
"""


def read(text, model=Drive):
    return validate(model, complete(model, read_text_yaml(text, "x.yaml")))


def provenance(figure):
    return figure.source, figure.date, figure.basis.value


def test_a_bare_figure_takes_the_whole_line():
    assert provenance(read(DRIVE).bytes) == ("BRIEF", "2025", "vendor")


def test_a_figure_overrides_what_it_knows_better():
    drive = read(DRIVE)
    assert provenance(drive.read) == ("BRIEF", "2025", "measured")
    assert provenance(drive.write) == ("OTHER", "2026-04-01", "vendor")
    assert provenance(drive.price) == ("BRIEF", "2025", "estimated")


def test_a_bare_price_has_no_range():
    price = read(DRIVE.replace("{low: $1, base: $2, high: $3, basis: estimated}", "$2k")).price
    assert (price.low, price.base, price.high) == (2000, 2000, 2000)


def test_without_a_line_a_bare_figure_is_refused():
    text = "\n".join(line for line in DRIVE.splitlines() if not line.startswith("provenance"))
    with pytest.raises(InputError) as refused:
        read(text)
    said = str(refused.value)
    assert 'x.yaml:4:1 bytes: expected a mapping, found "7.68 TB"' in said
    assert "read.source: is missing" in said


def test_inner_lines_and_mappings_override_outer_ones():
    text = """\
id: X
vendor: V
family: hopper
provenance: {source: OUTER, date: "2025", basis: vendor}
nominal_bytes: 80 GB
visible_bytes: 80 GB
hbm_bandwidth: 3 TB/s
peak: {bf16: 1 PFLOP/s, fp8: {value: 2 PFLOP/s, basis: measured}}
scale_up: {name: link, bandwidth: 450 GB/s, domain: 8}
host_link:
  name: PCIe5
  provenance: {source: INNER, basis: measured}
  read: 50 GB/s
  write: 50 GB/s
  both: 83.4 GB/s
nic: 45 GB/s
tdp: 700 W
tco:
  provenance: {source: TABLE}
  lease_3yr: $1.30/h
efficiency: {hbm: 0.4, step_overhead: 5 ms, prefill: 0.2, decode_flops: 0.1, error_band: 0.3}
"""
    card = read(text, Accelerator)
    assert provenance(card.host_link.read) == ("INNER", "2025", "measured")
    assert provenance(card.peak["bf16"]) == ("OUTER", "2025", "vendor")
    assert provenance(card.peak["fp8"]) == ("OUTER", "2025", "measured")
    assert provenance(card.tco["lease_3yr"]) == ("TABLE", "2025", "vendor")
    assert provenance(card.scale_up) == ("OUTER", "2025", "vendor")
    assert provenance(card.efficiency.hbm) == ("OUTER", "2025", "vendor")


def test_a_mistyped_line_is_placed_and_mended():
    with pytest.raises(InputError) as refused:
        read(DRIVE.replace("basis: vendor}", "bases: vendor}"))
    assert 'x.yaml:4:43 provenance.bases: unknown key (did you mean "basis"?)' in str(refused.value)
    with pytest.raises(InputError, match="is not a mapping"):
        read(DRIVE.replace('{source: BRIEF, date: "2025", basis: vendor}', "BRIEF"))


def test_figures_are_listed_by_name():
    places = [where for where, _ in figures_in(read(DRIVE))]
    assert places == ["bytes", "read", "write", "written_random", "power", "price"]
