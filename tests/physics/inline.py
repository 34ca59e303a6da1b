"""Cards built in place, for models and devices that are not shipped: geometry from models.json."""

from __future__ import annotations

from optimizer.catalog.devices import Accelerator, Efficiency, HostLink, ScaleUp
from optimizer.catalog.figures import (
    Basis,
    Bytes,
    BytesPerSecond,
    Count,
    FlopPerSecond,
    Fraction,
    Seconds,
    Watts,
)
from optimizer.catalog.llms import (
    Attention,
    Component,
    Experts,
    ModelCard,
    ModelOption,
    Role,
    Shape,
    Snapshot,
    Speculation,
    Weights,
)

FACTS = {"source": "facts", "date": "2026-12-01", "basis": Basis.ESTIMATED}
NO_SNAPSHOT = Snapshot(policy="none", **FACTS)


def linear(name, layers, size, *, stride=1, cap=None, role=Role.KV, replicated=True, draft=False):
    """A component with one entry per `stride` tokens and layer."""
    return Component(
        name=name,
        kind="linear",
        role=role,
        layers=layers,
        bytes=_profiles(size),
        stride=stride,
        read_cap=cap,
        replicated_under_tp=replicated,
        draft=draft,
        **FACTS,
    )


def window(name, layers, size, width, *, replicated=True, in_snapshot=True):
    """A component that keeps the last `width` tokens."""
    return Component(
        name=name,
        kind="window",
        role=Role.WINDOW,
        layers=layers,
        bytes=_profiles(size),
        window=width,
        replicated_under_tp=replicated,
        in_snapshot=in_snapshot,
        **FACTS,
    )


def state(name, layers, size, *, read=1, write=1, replicated=False, in_snapshot=True):
    """A recurrent or convolution state."""
    return Component(
        name=name,
        kind="state",
        role=Role.STATE,
        layers=layers,
        bytes=_profiles(size),
        read_period=read,
        write_period=write,
        replicated_under_tp=replicated,
        in_snapshot=in_snapshot,
        **FACTS,
    )


def attention(kind, layers, heads, **geometry):
    """One kind of attention."""
    return Attention(kind=kind, layers=layers, heads=heads, **geometry, **FACTS)


def mla(layers, heads, *, nope=128, value=128, kind="mla", **index):
    """Latent attention with the 512 + 64 latent all of these models use."""
    return attention(kind, layers, heads, lora=512, rope=64, nope=nope, v_dim=value, **index)


def experts(routed, active, layers, node_limit=None):
    """A mixture of experts."""
    return Experts(routed=routed, active=active, layers=layers, node_limit=node_limit, **FACTS)


def weights(routed, other, dtype="fp8"):
    """Weights of `routed` and `other` bytes."""
    return Weights(format="w", compute_dtype=dtype, routed_bytes=size_of(routed), other_bytes=size_of(other))


def shape(gpus, tp, *, dp=1, redundancy=1.0, accelerator="X"):
    """An instance of gpus = tp x dp."""
    return Shape(
        accelerator=accelerator, gpus=gpus, tensor_parallel=tp, data_parallel=dp, redundancy=redundancy
    )


def card(active, layers, attentions, *, hidden=7168, components=(), prefill=None, moe=None, chunk=None):
    """A model card with `active` parameters; one option, profile "p"."""
    return ModelCard(
        id="inline",
        name="inline",
        direction="full",
        sources={},
        layers=layers,
        hidden=hidden,
        max_context={"value": "1 Mitok", **FACTS},
        active_parameters=Count(value=active, **FACTS),
        prefill_parameters=None if prefill is None else Count(value=prefill, **FACTS),
        prefill_chunk=None if chunk is None else {"value": f"{chunk} tok", **FACTS},
        attention=tuple(attentions),
        experts=moe,
        components=tuple(components),
        weights=(weights(1.0, 1.0),),
        speculation=Speculation(**FACTS),
        shapes=(shape(8, 8),),
        options=(
            ModelOption(
                id="o", what="-", weights="w", profile="p", snapshot=NO_SNAPSHOT, default=True, source="facts"
            ),
        ),
    )


def accelerator(name, *, visible, bandwidth, bf16, fp8, hbm, overhead, prefill, decode, nic=50e9, domain=8):
    """An accelerator in SI numbers with fitted factors."""
    return Accelerator(
        id=name,
        vendor="-",
        family="-",
        nominal_bytes=size_of(visible),
        visible_bytes=size_of(visible),
        hbm_bandwidth=rate_of(bandwidth),
        nic=rate_of(nic),
        tdp=Watts(value="1 kW", **FACTS),
        peak={
            "bf16": FlopPerSecond(value=f"{bf16} FLOP/s", **FACTS),
            "fp8": FlopPerSecond(value=f"{fp8} FLOP/s", **FACTS),
        },
        scale_up=ScaleUp(name="-", bandwidth=rate_of(450e9), domain=domain, **FACTS),
        host_link=HostLink(name="-", read=rate_of(50e9), write=rate_of(50e9), both=rate_of(68e9)),
        efficiency=Efficiency(
            hbm=fraction(hbm),
            step_overhead=Seconds(value=f"{overhead} s", **FACTS),
            prefill=fraction(prefill),
            decode_flops=fraction(decode),
            error_band=fraction(0.5),
        ),
    )


def size_of(value):
    """A sourced number of bytes."""
    return Bytes(value=f"{value} B", **FACTS)


def rate_of(value):
    """A sourced number of bytes/s."""
    return BytesPerSecond(value=f"{value} B/s", **FACTS)


def fraction(value):
    """A sourced fraction."""
    return Fraction(value=value, **FACTS)


def _profiles(size):
    return size if isinstance(size, dict) else {"p": size}
