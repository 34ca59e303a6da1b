"""One small valid workload, and a way to load it with lines changed."""

from __future__ import annotations

import pytest

from optimizer.errors import InputError
from optimizer.files import read_text_yaml
from optimizer.workload import Loaded, loaded

TEXT = """\
schema: tierplan-workload/1
name: base
classes:
  chat:
    model: kimi-k2
    peak_rate: 20 req/s
    first_prompt: 5 ktok
    new_tokens: 1 ktok
    output_tokens: 300 tok
    contexts:
    - {tokens: 4 ktok, share: 0.6}
    - {tokens: 16 ktok, share: 0.4, return_probability: 0.9}
    reuse:
      return_probability: 0.6
      first_share: 0.28
      discarded: 100 tok
      gaps:
        lognormal: {median: 60 s, p90: 600 s}
    shared_prefix: {tokens: 1 ktok}
    slo: {ttft: 2 s, tpot: 50 ms}
hardware:
  servers:
    HGX-B300-8: {min: 1, max: 8, owned: 2, supply: 6}
tiers:
  hbm: {enabled: true}
  dram: {max_bytes: 8 TB}
  cxl: {}
options:
  kimi-k2: {only: [int4-bf16]}
limits:
  gpus: {terms: {servers.HGX-B300-8: 8, accelerators.B300-SXM: 1, nvme: 1e-9, power: 0}, min: 1, max: 64}
"""


def changed(*changes: tuple[str, str]) -> str:
    """The base text with each first string, which must stand in it once, replaced by the second."""
    text = TEXT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def load(text: str = TEXT, *overrides: str) -> Loaded:
    return loaded(read_text_yaml(text, "w.yaml"), overrides)


def refusals(text: str = TEXT, *overrides: str) -> list[str]:
    """The problems of a workload that is refused, as printed."""
    with pytest.raises(InputError) as caught:
        load(text, *overrides)
    return [str(problem) for problem in caught.value.problems]
