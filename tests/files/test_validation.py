"""A document against a schema: every fault at once, in the order of the file, in the planner's words."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import pytest
from pydantic import Field

from optimizer.errors import InputError
from optimizer.files import read_text_yaml, schema, validate
from optimizer.files.validation import MOST_TOLD
from optimizer.units import Strict, quantity


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Strict):
    weight: Annotated[float, Field(gt=0)]
    length: quantity("seconds", gt=0) = 1.0  # type: ignore[valid-type]


class Thing(Strict):
    kind: Literal["left", "right"] = "left"
    colour: Colour = Colour.RED
    count: int = 0
    on: bool = False
    name: str = ""
    ttft: quantity("seconds", gt=0)  # type: ignore[valid-type]
    parts: Annotated[tuple[Part, ...], Field(min_length=1, max_length=2)] = ()
    prices: dict[Annotated[str, Field(pattern="^[a-z]+$")], quantity("USD")] = Field(default_factory=dict)  # type: ignore[valid-type]
    schema_: int | None = Field(default=None, alias="schema")


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        validate(Thing, read_text_yaml(text, "t.yaml"))
    return [str(problem) for problem in caught.value.problems]


def test_a_document_becomes_a_model() -> None:
    text = "ttft: 2 s\nkind: right\ncolour: blue\nparts: [{weight: 1}]\nprices: {a: $3}\nschema: 4\n"
    thing = validate(Thing, read_text_yaml(text, "t.yaml"))
    assert (thing.ttft, thing.colour, thing.parts[0].weight) == (2.0, Colour.BLUE, 1.0)
    assert thing.prices == {"a": 3.0}


ONE = [
    ("kind: right\n", "1:1 ttft: is missing (add it, in seconds)"),
    ("ttft: 1 s\nparts:\n- {}\n", "3:3 parts.0.weight: is missing (add it)"),
    ("ttft: 1 s\ncuont: 1\n", '2:1 cuont: unknown key (did you mean "count"?)'),
    ("ttft: 1 s\nparts: [{weight: 1, zz: 2}]\n", "2:21 parts.0.zz: unknown key (one of: weight, length)"),
    ("ttft: 2.5\n", '1:1 ttft: "2.5" has no unit (did you mean '),
    ("ttft: 0 s\n", '1:1 ttft: "0 s" must be greater than 0'),
    ("ttft: 1 s\nkind: rigth\n", '2:1 kind: "rigth" is not one of left or right (did you mean "right"?)'),
    ("ttft: 1 s\ncolour: bleu\n", '2:1 colour: "bleu" is not one of red or blue (did you mean "blue"?)'),
    ('ttft: 1 s\ncount: "2"\n', '2:1 count: expected a whole number, found "2" (write 2 without quotes)'),
    ("ttft: 1 s\ncount: 2.5\n", "2:1 count: expected a whole number, found 2.5"),
    ("ttft: 1 s\ncount: true\n", "2:1 count: expected a whole number, found true"),
    ("ttft: 1 s\non: yes\n", '2:1 on: expected true or false, found "yes"'),
    ("ttft: 1 s\nname: 12\n", '2:1 name: expected text, found 12 (write "12")'),
    ("ttft: 1 s\nparts: []\n", "2:1 parts: needs at least 1 entries, found 0"),
    ("ttft: 1 s\nparts: 3\n", "2:1 parts: expected a list, found 3"),
    ("ttft: 1 s\nparts: [3]\n", "2:9 parts.0: expected a mapping, found 3"),
    ("ttft: 1 s\nprices: [1]\n", "2:1 prices: expected a mapping, found a list"),
    ("ttft: 1 s\nprices: {A: $1}\n", '2:10 prices.A: "A" does not match ^[a-z]+$'),
    ("[1]\n", "1:1: expected a mapping, found a list"),
]


@pytest.mark.parametrize(("text", "message"), ONE, ids=[message for _, message in ONE])
def test_one_fault_one_message(text: str, message: str) -> None:
    found = faults(text)
    assert len(found) == 1
    assert found[0].startswith(f"t.yaml:{message}")


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    found = faults("parts:\n- {weight: -1}\n- {weight: x}\nzz: 1\nttft: 3\ncount: q\n")
    assert [text.split(" ")[0] for text in found] == [
        "t.yaml:2:4",
        "t.yaml:3:4",
        "t.yaml:4:1",
        "t.yaml:5:1",
        "t.yaml:6:1",
    ]


def test_a_thousand_faults_are_not_all_told() -> None:
    found = faults("ttft: 1 s\n" + "".join(f"k{i}: 1\n" for i in range(1_000)))
    assert len(found) == MOST_TOLD + 1
    assert found[0].startswith("t.yaml:2:1 k0: unknown key")
    assert found[-1] == f"t.yaml:{MOST_TOLD + 2}:1 k{MOST_TOLD}: and 950 more faults, beginning here"


def test_the_schema_is_walked_by_the_names_of_the_file() -> None:
    assert set(schema.fields(Thing) or {}) >= {"schema", "parts"}
    assert schema.at(Thing, ("parts", 0, "weight")) is float
    assert schema.at(Thing, ("schema",)) is not None
    assert schema.at(Thing, ("schema_",)) is None
    assert schema.at(Thing, ("parts", "weight")) is None
    assert schema.at(Thing, ("prices", "anything")) is not None
