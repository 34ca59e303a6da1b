"""Reading folders of cards: what is found, replaced, refused, and said."""

from __future__ import annotations

import shutil

import pytest

from optimizer.catalog import load_catalog
from optimizer.errors import InputError
from optimizer.files import data_path

DIMM = """\
dimms:
  - id: {id}
    provenance: {{source: "https://example.org/list", date: "2026-11", basis: vendor}}
    bytes: 48 GB
    power: 6 W
    price: {{low: $100, base: $200, high: $300}}
"""


def write(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def card(name):
    return (data_path("models") / "llms" / f"{name}.yaml").read_text()


def problems(folder):
    with pytest.raises(InputError) as refused:
        load_catalog(folder)
    return [str(problem) for problem in refused.value.problems]


def test_an_unknown_id_names_the_nearest():
    catalog = load_catalog()
    with pytest.raises(InputError, match=r'no accelerator "H200" in the catalog .did you mean "H200-SXM"'):
        catalog.accelerator("H200")
    with pytest.raises(InputError, match='did you mean "kimi-k3"'):
        catalog.model("kimi_k3")
    for lookup in (catalog.server, catalog.dimm, catalog.drive, catalog.cxl_module, catalog.cxl_enclosure,
                   catalog.cxl_adapter, catalog.path):
        with pytest.raises(InputError, match="in the catalog"):
            lookup("nothing-like-it")


def test_shipped_cards_are_read_once():
    assert load_catalog() is load_catalog()


def test_a_planners_cards_add_and_replace(tmp_path):
    more = DIMM.format(id="RDIMM-64").removeprefix("dimms:\n")
    write(tmp_path, "devices/mine.yaml", DIMM.format(id="RDIMM-48") + more)
    write(tmp_path, "llms/mine.yaml", card("kimi-k2").replace("id: kimi-k2\n", "id: my-k2\n"))
    catalog = load_catalog(tmp_path)
    assert catalog.dimm("RDIMM-48").bytes.value == 48e9
    assert catalog.dimm("RDIMM-64").price.base == 200
    assert len(catalog.devices.dimms) == len(load_catalog().devices.dimms) + 1
    assert catalog.model("my-k2").components == catalog.model("kimi-k2").components
    assert load_catalog().dimm("RDIMM-64").price.base == 1275, "the shipped catalog stays as it was"


def test_a_folder_without_cards_is_refused(tmp_path):
    assert problems(tmp_path) == [f"{tmp_path}: holds no folder llms/ or devices/ (put cards in these)"]


def test_every_fault_of_every_file_is_said_at_once(tmp_path):
    write(tmp_path, "devices/a.yaml", DIMM.format(id="A").replace("48 GB", "48 Gb"))
    write(tmp_path, "devices/b.yaml", "drivs: []\n")
    write(tmp_path, "llms/c.yaml", card("kimi-k2").replace("layers: 61\nhidden", "hidden"))
    found = problems(tmp_path)
    assert len(found) == 3
    assert any("a.yaml:4:5 dimms.0.bytes.value" in said and 'did you mean "48 GB"?' in said for said in found)
    assert any("b.yaml:1:1 drivs: unknown key" in said and 'did you mean "drives"?' in said for said in found)
    assert any("c.yaml" in said and "layers: is missing" in said for said in found)


def test_an_id_stands_once_in_a_folder(tmp_path):
    write(tmp_path, "devices/a.yaml", DIMM.format(id="A"))
    write(tmp_path, "devices/b.yaml", DIMM.format(id="A"))
    (said,) = problems(tmp_path)
    assert "b.yaml:2:5 dimms.A: stands twice (already at" in said


@pytest.fixture
def copied(tmp_path):
    """The shipped folders, to be spoiled."""
    shutil.copytree(data_path("models"), tmp_path / "cards")
    return tmp_path / "cards"


@pytest.mark.parametrize(("file", "old", "new", "said"), [
    ("devices/servers.yaml", "accelerator: H100-SXM", "accelerator: H100-SMX",
     'servers.yaml:8:5 servers.HGX-H100-8.accelerator: no accelerator "H100-SMX" (did you mean "H100-SXM"?)'),
    ("devices/servers.yaml", "{dimm: RDIMM-32, count: 12}", "{dimm: RDIM-32, count: 12}",
     'no DIMM "RDIM-32"'),
    ("devices/servers.yaml", "accelerators: 72", "accelerators: 0",
     "is of kind accelerator with 0 accelerators"),
    ("devices/servers.yaml", "fixed_memory:", "# fixed_memory:",
     "has neither or both of populations and fixed_memory"),
    ("devices/cxl.yaml", "modules: [CMM-D-256,", "modules: [CMM-E-256,", 'no CXL module "CMM-E-256"'),
    ("devices/cxl.yaml", "adapter: CXL-HOST-ADAPTER-x16", "adapter: CXL-HOST", 'no CXL adapter "CXL-HOST"'),
    ("llms/kimi-k3.yaml", "accelerator: B300-SXM, gpus: 8", "accelerator: B300, gpus: 8",
     'kimi-k3.shapes: no accelerator "B300" (did you mean "B300-SXM"?)'),
    ("llms/kimi-k3.yaml", "source: WASTE", "source: WAIST",
     'kimi-k3.active_parameters.source: no source "WAIST" in sources (did you mean "WASTE"?)'),
    ("llms/kimi-k2.yaml", "accelerators: [hopper, blackwell, rubin]\n    engi",
     "accelerators: [hoper]\n    engi",
     'kimi-k2.int4-turboquant.accelerators: no accelerator or family "hoper" (did you mean "hopper"?)'),
    ("llms/deepseek-v3.2.yaml", "efficiency_family: deepseek-v3.2", "efficiency_family: deepseek-v4",
     "no efficiency family"),
    ("llms/kimi-k3.yaml", "{policy: every_tokens, every: 32768 tok, replay: 16384 tok,", "{policy: none,",
     "kimi-k3.bf16-ladder32k.snapshot: is none in a model with states"),
    ("llms/kimi-k2.yaml", "ratio: {bf16: 1.4, fp8: 1.1}", "ratio: {bf16: 1.4, fp9: 1.1}", 'no profile "fp9"'),
    ("llms/kimi-k2.yaml", "id: int4-fp8\n", "id: int4-bf16\n", "kimi-k2.options.int4-bf16: stands 2 times"),
])
def test_a_name_that_points_nowhere_is_refused(copied, file, old, new, said):
    text = (copied / file).read_text()
    assert old in text
    (copied / file).write_text(text.replace(old, new))
    assert any(said in problem for problem in problems(copied)), problems(copied)
