"""What can be bought: SKUs, builds (machine x real DIMM population x drives), nodes, CXL enclosures."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from optimizer.catalog import Catalog, CxlEnclosure, CxlModule, Drive, Population, Resale, Server
from optimizer.errors import InputError
from optimizer.instance.money import Bill, Money, Part, Things
from optimizer.instance.money.lines import problems
from optimizer.instance.types import Build, Enclosure, Sku, Tier
from optimizer.workload import Workload
from optimizer.workload.schema import ServerChoice

UNLIMITED = 2000  # machines of one kind where the planner states no limit


class Market:
    """The purchasable machines and parts of one study, priced."""

    def __init__(self, workload: Workload, catalog: Catalog):
        self.workload = workload
        self.catalog = catalog
        if found := list(problems(workload, catalog)):
            raise InputError(found)
        self.money = Money.of(catalog.devices, workload)
        self.facility = catalog.devices.facility

    def _allowed(self, part: object, named: tuple[str, ...] | None) -> bool:
        identifier, enabled = part.id, part.enabled  # type: ignore[attr-defined]
        if named is not None:
            return identifier in named
        return enabled or identifier in self.workload.hardware.enable

    def servers(self, kind: str) -> Iterator[tuple[Server, ServerChoice]]:
        """The servers of a kind that the planner allows."""
        for name, choice in self.workload.hardware.servers.items():
            server = self.catalog.server(name)
            if server.kind == kind:
                yield server, choice

    def maximum(self, choice: ServerChoice) -> int:
        """The most machines of a kind: the planner's limit, or more than anybody has a hall for."""
        return UNLIMITED if choice.max is None else choice.max

    def _bound(self, choice: ServerChoice, watts: float) -> int:
        """The most machines of one build that the limits admit: a tight bound makes a tight relaxation."""
        power = self.workload.facility.power
        return self.maximum(choice) if power is None else min(self.maximum(choice), floor(power / watts))

    def skus(self) -> tuple[Sku, ...]:
        """The accelerator servers."""
        found = []
        for server, choice in self.servers("accelerator"):
            found.append(
                Sku(
                    id=server.id,
                    accelerator=server.accelerator or "",
                    gpus=server.accelerators,
                    minimum=choice.min,
                    maximum=self.maximum(choice),
                    supply=choice.supply,
                    owned=choice.owned,
                    owned_saving_usd=self.money.owned_saving(server),
                    minimum_order=server.minimum_order,
                    nic_bytes_s=server.nic_bandwidth.value,
                    free_x16_slots=server.free_x16_slots,
                )
            )
        return tuple(found)

    def builds(self) -> tuple[Build, ...]:
        """Every build of every allowed machine."""
        return tuple(
            self._build(server, choice, kind, population, drive, count)
            for kind in self._kinds()
            for server, choice in self.servers(kind)
            for population in self._populations(server, kind)
            for drive, count in self._drives(server, kind)
        )

    def _kinds(self) -> list[str]:
        """Machines worth offering: nodes only for tiers that are enabled."""
        tiers = self.workload.tiers
        nodes = {"dram_node": tiers.dram_pool.enabled, "storage_node": tiers.storage.enabled}
        return ["accelerator", *(kind for kind, enabled in nodes.items() if enabled)]

    def _populations(self, server: Server, kind: str) -> list[Population | None]:
        if server.fixed_memory is not None:
            return [None]
        kept = [
            p
            for p in server.populations
            if kind == "storage_node"
            or self._allowed(self.catalog.dimm(p.dimm), self.workload.hardware.dimms)
        ]
        kept.sort(key=lambda p: p.count * self.catalog.dimm(p.dimm).bytes.value)
        return list(kept[:1] if kind == "storage_node" else kept)

    def _drives(self, server: Server, kind: str) -> list[tuple[Drive | None, int]]:
        if kind == "dram_node" or (kind == "accelerator" and not self.workload.tiers.nvme.enabled):
            return [(None, 0)]
        fitting = [
            d
            for d in self.catalog.devices.drives
            if self._allowed(d, self.workload.hardware.drives) and server.accepts(d)
        ]
        if kind == "storage_node":
            return [(d, server.drive_bays) for d in fitting]
        counts = [n for n in self.workload.hardware.drive_counts if n <= server.drive_bays]
        return [(None, 0), *((d, n) for d in fitting for n in counts)]

    def _build(
        self,
        server: Server,
        choice: ServerChoice,
        kind: str,
        population: Population | None,
        drive: Drive | None,
        count: int,
    ) -> Build:
        dimm = self.catalog.dimm(population.dimm) if population else None
        modules = population.count if population else 0
        dram = server.fixed_memory.bytes.value if server.fixed_memory else modules * dimm.bytes.value  # type: ignore[union-attr]
        dimm_part = (
            Part("dram", modules * self.money.price(dimm), modules * dimm.power.value, resale=Resale.MEMORY)
            if dimm
            else None
        )
        drive_part = (
            Part("nvme", count * self.money.price(drive), count * drive.power.value, resale=Resale.DRIVES)
            if drive
            else None
        )
        name = {"accelerator": "accelerator servers", "dram_node": "dram nodes"}.get(kind, "storage nodes")
        price = self.money.price(server)
        base = Part(name, price, server.max_power.value, server.rack_units.value)
        extras = [part for part in (dimm_part, drive_part) if part]
        things = self._things(server, price)
        parts = [base, *self.money.equipment(things), *extras]
        bill = self._bill(server, parts, extras, things)
        tier = {"dram_node": Tier.DRAM_POOL, "storage_node": Tier.STORAGE}.get(kind)
        read, write = (server.drive_read(drive), server.drive_write(drive)) if drive else (0.0, 0.0)
        nic = server.nic_bandwidth.value
        read, write = count * read, count * write
        return Build(
            id=_name(server, population, drive, count),
            sku=server.id if kind == "accelerator" else None,
            server=server.id,
            tier=tier,
            dimms=f"{modules} x {population.dimm}" if population else "fixed",
            dram_bytes=dram,
            dram_usable=dram * self.facility.dram_usable.value,
            dram_bytes_s=server.memory_bandwidth(population) if population else server.dram_bandwidth.value,
            drive=drive.id if drive else "",
            drives=count,
            nvme_bytes=count * drive.bytes.value if drive else 0.0,
            nvme_usable=count * drive.bytes.value * self.facility.nvme_usable.value if drive else 0.0,
            nvme_read=min(read, nic) if tier else read,
            nvme_write=min(write, nic) if tier else write,
            nvme_endurance=count * _endurance(drive) if drive else 0.0,
            replacement_usd=self.money.price(drive) if drive else 0.0,
            network_bytes_s=nic,
            power_w=sum(p.watts for p in parts),
            rack_units=server.rack_units.value,
            capex_usd=bill.upfront_usd,
            minimum=choice.min if tier else 0,
            maximum=self._bound(choice, sum(p.watts for p in parts)),
            cost=bill.cost,
        )

    def _bought(self) -> bool:
        return self.workload.economics.ownership == "purchase"

    def _things(self, server: Server, price: float) -> Things:
        modules = (
            self.money.modules(self.catalog.accelerator(server.accelerator), server.accelerators)
            if server.accelerator
            else 0.0
        )
        return Things(server.accelerators, 1, server.nic_links, price, modules)

    def _bill(self, server: Server, parts: list[Part], extras: list[Part], things: Things) -> Bill:
        """Purchase of everything, or a contract for the accelerators and purchase of what is added."""
        if self._bought() or server.accelerator is None:
            return self.money.bill(parts, things)
        contract = self.money.contract(self.catalog.accelerator(server.accelerator), server.accelerators)
        beside = self.money.bill(extras, things, hired=True)
        return beside._replace(cost=(contract, *beside.cost))

    def enclosures(self) -> tuple[Enclosure, ...]:
        """CXL pools: one entry per enclosure kind and module kind that fits it."""
        if not self.workload.tiers.cxl.enabled:
            return ()
        found = []
        for name, choice in self.workload.hardware.cxl_enclosures.items():
            card = self.catalog.cxl_enclosure(name)
            modules = [self.catalog.cxl_module(m) for m in card.modules]
            allowed = [m for m in modules if self._allowed(m, self.workload.hardware.cxl_modules)]
            for module in allowed:
                found.append(self._enclosure(card, module, choice, several=len(allowed) > 1))
        return tuple(found)

    def _enclosure(
        self, card: CxlEnclosure, module: CxlModule, choice: ServerChoice, several: bool
    ) -> Enclosure:
        adapter = self.catalog.cxl_adapter(card.adapter)
        cxl = Resale.CXL
        box = Part("cxl", self.money.price(card), card.power.value, card.rack_units.value, cxl)
        stick = Part("cxl", self.money.price(module), module.power.value, resale=cxl)
        host = Part("cxl", self.money.price(adapter), adapter.power.value, resale=cxl)
        bills = [self.money.bill([part]) for part in (box, stick, host)]
        return Enclosure(
            id=f"{card.id}+{module.id}" if several else card.id,
            module=module.id,
            adapter=adapter.id,
            module_slots=card.module_slots,
            ports=card.ports,
            module_bytes=module.bytes.value,
            module_bytes_s=card.module_bandwidth(module),
            enclosure_bytes_s=card.bandwidth.value,
            adapter_read=adapter.gpu_read.value,
            adapter_write=adapter.gpu_write.value,
            minimum=choice.min,
            maximum=choice.max if choice.max is not None else 64,
            power_w=(box.watts, stick.watts, host.watts),
            rack_units=box.rack_units,
            capex_usd=(bills[0].upfront_usd, bills[1].upfront_usd, bills[2].upfront_usd),
            enclosure_cost=bills[0].cost,
            module_cost=bills[1].cost,
            adapter_cost=bills[2].cost,
            module_usable=module.bytes.value * self.facility.dram_usable.value,
        )


def _endurance(drive: Drive) -> float:
    """Bytes a drive may be written: KV writes are large and sequential, so that rating where it is given."""
    return (drive.written_sequential or drive.written_random).value


def _name(server: Server, population: Population | None, drive: Drive | None, count: int) -> str:
    parts = [server.id, f"{population.count}x{population.dimm}" if population else "fixed"]
    return "/".join([*parts, f"{count}x{drive.id}"] if drive else parts)
