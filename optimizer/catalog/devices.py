"""The cards of what can be bought: accelerators, servers, memory, drives, CXL parts, network, facility."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from optimizer.catalog.costs import CostCard, Facility, Network
from optimizer.catalog.figures import (
    Bytes,
    BytesPerSecond,
    FlopPerSecond,
    Fraction,
    PricePerSecond,
    RackUnits,
    Seconds,
    Sourced,
    UnitPrice,
    Watts,
)
from optimizer.units import Strict

Positive = Annotated[int, Field(gt=0)]
RDMA = "RDMA"  # how a machine reads another's memory or drives where no fabric joins them


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


class MemoryPool(Strict):
    """The memory of a rack's trays as one: every accelerator of the scale-up domain reads every tray's bytes.

    `protocol` is what a byte crosses, `hosts` the trays. `remote_read` is what one accelerator reads from
    the memory of other trays while all do likewise (bytes/s): the lesser of its share of the link of the
    processor that holds the byte and of its own scale-up link.
    """

    protocol: str
    hosts: Positive
    remote_read: BytesPerSecond


class FixedMemory(Sourced):
    """Host memory that comes with the server and cannot be chosen (LPDDR of a rack).

    `pool` where the trays of the server share it; without it the memory is each tray's own.
    """

    bytes: Bytes
    pool: MemoryPool | None = None


class Server(Strict):
    """A machine that can be bought: accelerator node or rack, DRAM node, storage node.

    `price` is without DIMMs and data drives unless `fixed_memory` is set. `typical_dram` is what such
    machines are seen to carry: the DRAM of a baseline. `dram_bandwidth` is what all channels give together;
    `nic_bandwidth` the effective NIC bytes/s of the whole machine, one way.
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
    typical_dram: Bytes | None = None
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

    @property
    def pooled_over(self) -> tuple[str, int | None]:
        """The protocol that others read this machine's memory over, and how many hosts share it (None: the
        whole facility). A rack that pools has its own; every other machine is reached by RDMA."""
        pool = self.fixed_memory.pool if self.fixed_memory is not None else None
        return (RDMA, None) if pool is None else (pool.protocol, pool.hosts)

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
    """A switched pool: slots for modules, ports for hosts. Its price is without modules and adapters.

    `protocol` is what its ports speak; `module_link` what one slot carries, whatever the module could.
    """

    id: str
    protocol: str
    module_slots: Positive
    modules: tuple[str, ...]
    module_link: BytesPerSecond | None = None
    ports: Positive
    bandwidth: BytesPerSecond
    latency: Seconds
    adapter: str
    power: Watts
    rack_units: RackUnits
    price: UnitPrice
    enabled: bool = True

    def module_bandwidth(self, module: CxlModule) -> float:
        """Bytes/s of one module in one slot of this enclosure."""
        slot = float(self.module_link) if self.module_link is not None else float("inf")
        return min(float(module.bandwidth), slot)


class CxlAdapter(Strict):
    """The host side of a pool: one x16 card. `gpu_read` is what a GPU gets through one adapter."""

    id: str
    gpu_read: BytesPerSecond
    gpu_write: BytesPerSecond
    power: Watts
    price: UnitPrice


class TransferPath(Strict):
    """How one tier reaches a GPU: fixed latency, time per block, effective bytes/s where not a device's."""

    tier: Literal["dram", "cxl", "dram_pool", "nvme", "storage"]
    latency: Seconds
    per_block: Seconds
    block_bytes: Bytes
    bandwidth: BytesPerSecond | None = None


class LeftOut(Strict):
    """A part that is known and has no card, and why: so that nobody looks for it in vain."""

    id: str
    why: str


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
    cost_lines: tuple[CostCard, ...] = ()
    network: Network | None = None
    paths: tuple[TransferPath, ...] = ()
    facility: Facility | None = None
    left_out: tuple[LeftOut, ...] = ()


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
    cost_lines: tuple[CostCard, ...]
    network: Network
    paths: tuple[TransferPath, ...]
    facility: Facility
    left_out: tuple[LeftOut, ...]
