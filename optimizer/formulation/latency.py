"""Law 8: a stated share of the requests sees its first token in time."""

from __future__ import annotations

from optimizer.formulation.law import law
from optimizer.formulation.model import Model, Rows


@law("ttft_attainment", unit="req/s in time", price="one more request per second within its TTFT")
def ttft_attainment(model: Model, rows: Rows) -> None:
    """Each path meets the limit with a known probability (queueing bound); the mix must meet the share.

    sum attained path >= attainment_W rate_W   [req/s]
    """
    for cls in model.instance.classes:
        mine = [i for i, path in enumerate(model.instance.paths) if path.cls == cls.id]
        late = [(-c, v) for c, v in model.paths(mine, "attained")]
        rows.at_most(cls.id, late, constant=-cls.attainment * cls.rate)


LAWS = (ttft_attainment,)
