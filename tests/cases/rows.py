"""The cases with known answers: questions people asked in public and tables they published, by id and source.

A row's test carries the id in its name and begins its docstring with `ID (source)`; `test_complete.py` sees
to it. The published checks of every shipped card (row K*) are `tests/physics/checks.json`.
"""

from __future__ import annotations

ROWS = {
    "A1": "LMCache PR 715",
    "A2": "vLLM 10517",
    "A3": "llm-d-planner docs",
    "A5": "vLLM 22291",
    "A6": "d-inference 267",
    "A8": "LMCache PR 4278",
    "A10": "vLLM 51041",
    "A13": "flashinfer PR 3937",
    "B1": "SGLang 26691",
    "B2": "InferenceX 2370",
    "B4": "InferenceX 3329",
    "B6": "InferenceX 3336/3337",
    "B7": "vLLM recipes 934",
    "B9": "vLLM 51454",
    "B10": "docs/physics.md section 3",
    "C1": "Tanguille/cluster 5122",
    "C2": "Mooncake 467",
    "C6": "LMCache 1109, dynamo 6506",
    "C9": "LMCache 1372",
    "T1": "kimi-capacity-report, docs/physics.md section 1",
    "T2": "vLLM blog, docs/physics.md section 1",
    "T3": "DeepSeek-V4 report",
    "T4": "open-infra-index day 6",
    "M2": "Mooncake FAST'25 Eq. 2",
    "M4": "Mélange example",
    "M6": "InferenceX",
    "M7": "open-infra-index day 6",
    "D1": "docs/physics.md, price bands",
    "D4": "inference-math ch. 4",
}
"""Id -> where the answer was published."""
