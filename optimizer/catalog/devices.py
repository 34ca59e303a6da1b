"""The cards of what can be bought: accelerators, servers, memory, drives, CXL parts, network, facility."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from optimizer.catalog.figures import (
    Bytes,
    BytesPerSecond,
    Count,
    FlopPerSecond,
    Fraction,
    PriceFraction,
    PricePerJoule,
    PricePerSecond,
    PricePerWattSecond,
    RackUnits,
    Seconds,
    Sourced,
    UnitPrice,
    Watts,
)
from optimizer.units import Strict

Positive = Annotated[int, Field(gt=0)]


class ScaleUp(Sourced):
    """The scale-up fabric: bytes/s per accelerator one way, and how many accelerators share it."""

    name: str
    bandwidth: BytesPerSecond
    domain: Positive


class HostLink(Strict):
    """Effective host link of one accelerator: loads, stores, and both at once (bytes/s)."""

    name: str
    read: BytesPerSecond
    write: BytesPerSecond
    both: BytesPerSecond


class Efficiency(Strict):
    """Fitted fractions of peak, and the fixed time of a step, each with the band of its error.

    `step_overhead` holds for `reference_layers` layers and scales with them. `prefill` is of the FP8
    peak (or the BF16 peak where weights compute in BF16); `prefill_by_family` overrides it.
    """

    hbm: Fraction
    step_overhead: Seconds
    reference_layers: Positive = 61
    prefill: Fraction
    prefill_by_family: dict[str, Fraction] = Field(default_factory=dict)
    decode_flops: Fraction
    error_band: Fraction


class Accelerator(Strict):
    """One accelerator. `visible_bytes` is what software sees, `nominal_bytes` what the vendor prints."""

    id: str
    vendor: str
    family: str
    nominal_bytes: Bytes
    visible_bytes: Bytes
    hbm_bandwidth: BytesPerSecond
    peak: dict[Literal["bf16", "fp8", "fp4"], FlopPerSecond]
    scale_up: ScaleUp
    host_link: HostLink
    nic: BytesPerSecond
    tdp: Watts
    all_in_power: Watts | None = None
    module_price: UnitPrice | None = None
    rent: PricePerSecond | None = None
    tco: dict[Literal["hyperscaler_4yr", "neocloud_4yr", "lease_3yr"], PricePerSecond] = Field(
        default_factory=dict
    )
    efficiency: Efficiency
    enabled: bool = True


class Population(Strict):
    """A real DIMM population: `count` modules of one kind.

    `bandwidth` in bytes/s of the whole server, where the modules change it (MRDIMM).
    """

    dimm: str
    count: Positive
    bandwidth: BytesPerSecond | None = None


class FixedMemory(Sourced):
    """Host memory that comes with the server and cannot be chosen (LPDDR of a rack)."""

    bytes: Bytes


class Server(Strict):
    """A machine that can be bought: accelerator node or rack, DRAM node, storage node.

    `price` is without DIMMs and data drives unless `fixed_memory` is set. `dram_bandwidth` is what all
    channels give together; `nic_bandwidth` the effective NIC bytes/s of the whole machine, one way.
    `drive_link` is what one bay carries, whatever the drive could: see `drive_read`. A drive fits when it
    is made in one of the form factors of the bays, written `U.2/E3.S`.
    """

    id: str
    kind: Literal["accelerator", "dram_node", "storage_node"]
    accelerator: str | None = None
    accelerators: int = Field(default=0, ge=0)
    price: UnitPrice
    max_power: Watts
    rack_units: RackUnits
    populations: tuple[Population, ...] = ()
    fixed_memory: FixedMemory | None = None
    dram_bandwidth: BytesPerSecond
    nic_bandwidth: BytesPerSecond
    nic_links: Positive
    free_x16_slots: int = Field(ge=0)
    drive_bays: int = Field(ge=0)
    drive_form_factor: str = "U.2/E3.S"
    drive_link: BytesPerSecond | None = None
    minimum_order: Positive = 1
    enabled: bool = True

    def accepts(self, drive: Drive) -> bool:
        """Whether the drive fits one of the bays."""
        return self.drive_bays > 0 and not {*drive.form_factors}.isdisjoint(self.drive_form_factor.split("/"))

    def drive_read(self, drive: Drive) -> float:
        """Bytes/s read from one drive in one bay of this server."""
        return min(float(drive.read), self._bay())

    def drive_write(self, drive: Drive) -> float:
        """Bytes/s written to one drive in one bay of this server."""
        return min(float(drive.write), self._bay())

    def memory_bandwidth(self, population: Population | None) -> float:
        """Bytes/s of the host memory under a population (None: the fixed memory)."""
        if population is not None and population.bandwidth is not None:
            return float(population.bandwidth)
        return float(self.dram_bandwidth)

    def _bay(self) -> float:
        return float(self.drive_link) if self.drive_link is not None else float("inf")


class Dimm(Strict):
    """One memory module."""

    id: str
    bytes: Bytes
    power: Watts
    price: UnitPrice
    enabled: bool = True


class Drive(Strict):
    """One data drive. `written_random` and `written_sequential` are the vendor's endurance (TBW)."""

    id: str
    media: Literal["TLC", "QLC"]
    form_factors: tuple[str, ...]
    bytes: Bytes
    read: BytesPerSecond
    write: BytesPerSecond
    written_random: Bytes
    written_sequential: Bytes | None = None
    power: Watts
    price: UnitPrice
    enabled: bool = True


class CxlModule(Strict):
    """One CXL memory module of an enclosure or a slot."""

    id: str
    bytes: Bytes
    bandwidth: BytesPerSecond
    power: Watts
    price: UnitPrice
    enabled: bool = True


class CxlEnclosure(Strict):
    """A switched pool: slots for modules, ports for hosts. Its price is without modules and adapters."""

    id: str
    module_slots: Positive
    modules: tuple[str, ...]
    ports: Positive
    bandwidth: BytesPerSecond
    latency: Seconds
    adapter: str
    power: Watts
    rack_units: RackUnits
    price: UnitPrice
    enabled: bool = True


class CxlAdapter(Strict):
    """The host side of a pool: one x16 card. `gpu_read` is what a GPU gets through one adapter."""

    id: str
    gpu_read: BytesPerSecond
    gpu_write: BytesPerSecond
    power: Watts
    price: UnitPrice


class Network(Strict):
    """Cluster network, itemised: per link a NIC port is in the server; switch port and two optics here."""

    switch_port: UnitPrice
    switch_port_power: Watts
    optic: UnitPrice
    optic_power: Watts
    optics_per_link: Positive = 2
    percent_of_capex: PriceFraction


class TransferPath(Strict):
    """How one tier reaches a GPU: fixed latency, time per block, effective bytes/s where not a device's."""

    tier: Literal["dram", "cxl", "dram_pool", "nvme", "storage"]
    latency: Seconds
    per_block: Seconds
    block_bytes: Bytes
    bandwidth: BytesPerSecond | None = None


class Facility(Strict):
    """Figures of the building and of money. Presets pick low, base or high."""

    electricity: PricePerJoule
    pue: PriceFraction
    colocation: PricePerWattSecond
    maintenance_per_year: PriceFraction
    cost_of_capital: PriceFraction
    residual_36_months: PriceFraction
    mean_power_fraction: PriceFraction
    rack_price: UnitPrice
    rack_height: RackUnits
    design_utilisation: Fraction
    dram_usable: Fraction
    nvme_usable: Fraction
    write_amplification: Fraction
    hbm_utilisation: Fraction
    runtime_bytes: Bytes
    graph_bytes_per_sequence: Bytes
    index_logit_bytes: Count
    safety_quantile: Fraction
    tp_hop: Seconds


class DeviceFile(Strict):
    """One file of a devices folder: any part of the catalog."""

    sources: dict[str, str] = Field(default_factory=dict)
    accelerators: tuple[Accelerator, ...] = ()
    servers: tuple[Server, ...] = ()
    dimms: tuple[Dimm, ...] = ()
    drives: tuple[Drive, ...] = ()
    cxl_modules: tuple[CxlModule, ...] = ()
    cxl_enclosures: tuple[CxlEnclosure, ...] = ()
    cxl_adapters: tuple[CxlAdapter, ...] = ()
    network: Network | None = None
    paths: tuple[TransferPath, ...] = ()
    facility: Facility | None = None


class DeviceCatalog(Strict):
    """Everything that can be bought, by id."""

    sources: dict[str, str]
    accelerators: tuple[Accelerator, ...]
    servers: tuple[Server, ...]
    dimms: tuple[Dimm, ...]
    drives: tuple[Drive, ...]
    cxl_modules: tuple[CxlModule, ...]
    cxl_enclosures: tuple[CxlEnclosure, ...]
    cxl_adapters: tuple[CxlAdapter, ...]
    network: Network
    paths: tuple[TransferPath, ...]
    facility: Facility
