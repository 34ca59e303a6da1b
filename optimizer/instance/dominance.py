"""Options that need not be columns, because another option of the same model is never worse.

Proof. Let b dominate a: same weights, b runs on every accelerator that a runs on, and every byte and
factor of b is at most that of a (HBM entries, tier entries under every codec, snapshots, replay, compute,
KV reads). Ranks hold and load as many copies of each component as its heads and the shape say, whatever the
option, and read KV in the time of those bytes times `read_factor`: both factors of b are no larger than a's.
The weights that an iteration of a is charged are those of the largest batch under a or under any option that
dominates it, so they are no less than b's.
Take any feasible layout that runs a and let it run b with the same pools, shares and paths. Every law's
left side is a non-negative combination of those bytes and seconds, so no row gets tighter (a path's
attainment can only rise), and no cost line mentions the option. So some optimum does without a.
Quality floors are already met by every option that reaches this point: within the floor, loss is free.
"""

from __future__ import annotations

from optimizer.catalog import ModelCard, ModelOption


def undominated(card: ModelCard, options: list[ModelOption]) -> list[ModelOption]:
    """The options of one model that no other admissible option dominates; of equals the first stays."""
    kept: list[ModelOption] = []
    for i, option in enumerate(options):
        rivals = [b for j, b in enumerate(options) if j != i and dominates(card, b, option)]
        if not any(not dominates(card, option, b) or options.index(b) < i for b in rivals):
            kept.append(option)
    return kept


def dominates(card: ModelCard, b: ModelOption, a: ModelOption) -> bool:
    """Whether b is never worse than a, by every byte and factor."""
    return (
        b.weights == a.weights
        and _loss_no_worse(card, b, a)
        and b.offload == a.offload == ()
        and ("any" in b.accelerators or set(a.accelerators) <= set(b.accelerators))
        and b.index_reuse >= a.index_reuse
        and b.prefill_factor <= a.prefill_factor
        and b.decode_factor <= a.decode_factor
        and b.read_factor <= a.read_factor
        and _snapshots_no_worse(b, a)
        and all(c.bytes[b.profile] <= c.bytes[a.profile] for c in card.components)
        and _codecs_no_worse(card, b, a)
    )


def _loss_no_worse(card: ModelCard, b: ModelOption, a: ModelOption) -> bool:
    """A codec's loss counts on top of the option's: it may fit a's floor and not b's."""
    lossless = all(c.quality_loss and c.quality_loss.value == 0 for c in card.codecs if a.profile in c.ratio)
    return lossless or (
        b.quality_loss is not None
        and a.quality_loss is not None
        and b.quality_loss.value <= a.quality_loss.value
    )


def _snapshots_no_worse(b: ModelOption, a: ModelOption) -> bool:
    same = (b.snapshot.policy, b.snapshot.every) == (a.snapshot.policy, a.snapshot.every)
    fewer = b.snapshot.policy == "last_turn" and a.snapshot.policy == "every_tokens"
    return (same or fewer) and b.snapshot.replay <= a.snapshot.replay


def _codecs_no_worse(card: ModelCard, b: ModelOption, a: ModelOption) -> bool:
    """Every codec that a may use leaves b smaller still: with the codec if b may use it, else plain."""
    for codec in card.codecs:
        if a.profile in codec.ratio:
            ratio_b = codec.ratio.get(b.profile, 1.0)
            if any(
                c.bytes[b.profile] / ratio_b > c.bytes[a.profile] / codec.ratio[a.profile]
                for c in card.components
                if c.kind == "linear"
            ):
                return False
    return True
