"""spec_check: exact variants of hardware against a listing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.text.spec_check import SpecCheck
from orglab.evaluators.text.variants import read_vocabulary

VOCABULARY = Path(__file__).parents[3] / "specs/loop-back-authority/data/laptop_parts.yaml"
PARTS = read_vocabulary(yaml.safe_load(VOCABULARY.read_text(encoding="utf-8")), "parts").parts

SPECS: Mapping[str, Any] = {
    "gpu": "NVIDIA GeForce RTX 4060 Laptop GPU, 8 GB GDDR6, 85 W",
    "cpu": "Intel Core i7-13650HX",
    "ram": "16 GB DDR5-5600",
    "storage": "1 TB PCIe 4.0 NVMe SSD",
    "display": "15.6-inch 1920 x 1080 IPS",
    "refresh_rate": "144 Hz",
    "battery": "90 Wh",
    "weight": "2.30 kg",
    "colour": "Basalt Grey",
}
REPORT = """
The machine pairs an **RTX 4060** with 8 GB of GDDR6, a Core i7\u201113650HX, 16GB of DDR5 memory and a
1 TB SSD. Its 15.6\u201d screen (1920 \u00d7 1080) runs at 144Hz. At 5.07 lbs with a 90 Wh battery, in basalt
grey, it travels well.
"""


@pytest.fixture
def measure(output: Any, run: Any, context: Any) -> Any:
    """Measures a text against the listing."""

    async def scores(text: str, specs: Any = SPECS, **arguments: Any) -> dict[str, Any]:
        async def get_record(*, id: str) -> Any:  # noqa: A002 - the tool's argument
            return {"id": id, "record": {} if specs is None else {"specs": specs}}

        check = SpecCheck(
            file=Path("listings.jsonl"),
            id="B1",
            key="asin",
            **{"vocabulary": VOCABULARY, **arguments},
        )
        used = context(functions={"get_record": get_record})
        found = await check.evaluate(run(output(text)), used)
        assert used.made[0] == (
            "get_record",
            {"file": "listings.jsonl", "id": "asin", "show": ["specs"]},
        )
        return {score.name.removeprefix("spec_check").removeprefix("."): score for score in found}

    return scores


async def test_a_report_that_names_everything(measure: Any) -> None:
    """Spelling, units and signs may differ; nothing is wrong, nothing is left out."""
    found = await measure(REPORT)
    assert {name: score.value for name, score in found.items()} == {
        "": 0, "precision": 1.0, "recall": 1.0, "pattern": 1.0,
    }  # fmt: skip
    assert found[""].passed is True


async def test_another_variant_of_the_processor(measure: Any) -> None:
    """An i7-13620H is no i7-13650HX; the loose form does not see it."""
    found = await measure(REPORT.replace("13650HX", "13620H"))
    assert found[""].value == 1
    assert found[""].passed is False
    assert found[""].reason == "cpu: i7-13620h is not in the listing (i7-13650hx)"
    assert found["precision"].value == pytest.approx(1 - 1 / found["precision"].detail["claims"])
    assert found["recall"].value == pytest.approx(8 / 9)
    assert found["recall"].detail["left_out"] == ["cpu"]
    assert found["pattern"].value == 1.0


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("an RTX 4060 Ti", ["gpu: rtx 4060 ti is not in the listing (rtx 4060)"]),
        ("a Core i9", ["cpu_family: i9 is not in the listing (i7)"]),
        ("a Core i7", []),
        ("RAM: 32 GB", ["ram: 32 GB is not in the listing (16 GB)"]),
        ("8 GB of video memory", []),
        ("a 512 GB PCIe SSD", ["storage: 512 GB is not in the listing (1000 GB)"]),
        ("1024 GB of storage", []),
        ("16 GB LPDDR5 memory", ["ram_type: lpddr5 is not in the listing (ddr5)"]),
        ("an OLED screen of 16 inches", [
            "screen: 16 inch is not in the listing (15.6 inch)",
            "panel: oled is not in the listing (ips)",
        ]),
        ("2.3 kg, or 5 pounds", []),
        ("2.4 kg", ["weight: 2.4 kg is not in the listing (2.30 kg)"]),
        ("Windows 11", ["os: 11 is not in the listing (the listing tells none)"]),
    ],
)  # fmt: skip
async def test_what_is_wrong(said: str, wrong: list[str], measure: Any) -> None:
    """Each exact variant that the listing has not, and no other."""
    found = await measure(said)
    assert found[""].detail["wrong"] == wrong


async def test_nothing_said(measure: Any) -> None:
    """A text without specifications has no precision; its recall is 0."""
    found = await measure("Fine.")
    assert found[""].value == 0
    assert found["precision"].value is None
    assert found["precision"].reason == "it names no specification"
    assert found["recall"].value == 0
    assert found["pattern"].detail["not_found"] == ["gpu", "ram", "cpu_family", "storage"]


async def test_the_loose_form(measure: Any) -> None:
    """Amounts count wherever they stand, as it was first published."""
    found = await measure("RTX4060, i7, 16 GB, 1000 GB")
    assert found["pattern"].value == 1.0
    assert (await measure("RTX 4060"))["pattern"].value == 0.25


async def test_parts_and_patterns_of_ones_own(measure: Any) -> None:
    """`parts` narrows what is looked at, `patterns` adds to it."""
    found = await measure("An i9 with 32 GB RAM", parts=["ram"])
    assert [each.split(":")[0] for each in found[""].detail["wrong"]] == ["ram"]
    own = await measure("In amber grey", patterns={"colour": r"\w+ grey"})
    assert own[""].reason == "colour: amber grey is not in the listing (basalt grey)"
    with pytest.raises(EvaluationError, match="'rma' is not known; did you mean 'ram'"):
        await measure("text", parts=["rma"])
    with pytest.raises(ValueError, match="is not a regular expression"):
        SpecCheck(file=Path("x"), id="B1", patterns={"a": "("})


async def test_no_listing(measure: Any, run: Any, output: Any, context: Any) -> None:
    """Without specifications it cannot be measured; without an answer all is missing."""
    with pytest.raises(EvaluationError, match="B1: the field 'specs' holds no specifications"):
        await measure("text", specs=None)
    check = SpecCheck(file=Path("x"), id="B1")
    scores = await check.evaluate(run(status="failed"), context())
    assert [score.value for score in scores] == [None] * 4
    absent = await SpecCheck(file=Path("x"), id="B1", field="a").look(output({"b": 1}), context())
    assert absent.reason == "the output has no field 'a'"


@pytest.mark.parametrize(
    ("part", "text", "names"),
    [
        ("cpu", "AMD Ryzen 7 7840HS, Ryzen 9 7945HX3D", ["ryzen-7840hs", "ryzen-7945hx3d"]),
        ("cpu", "Core Ultra 7 155H and Core i5 1235U", ["ultra 7-155h", "i5-1235u"]),
        ("cpu", "Ryzen AI 9 HX 370", ["ryzen-hx 370"]),
        ("cpu_family", "a Ryzen 7 7840HS", []),
        ("cpu_family", "a Ryzen 7 and an i7", ["ryzen 7", "i7"]),
        ("ram", "12 GB GDDR6 memory, 512 GB SSD", []),
        ("ram", "memory: 512 GB SSD", []),
        ("ram", "| RAM | 32 GB |", ["32 GB"]),
        ("storage", "a 0.5 TB or 2048 GB drive", ["500 GB", "2000 GB"]),
        ("refresh_rate", "4.9 GHz at 240 Hz", ["240 Hz"]),
    ],
)
def test_variants(part: str, text: str, names: list[str]) -> None:
    """One spelling for each variant, and no other part mistaken for it."""
    assert [each.name for each in PARTS[part].variants(text)] == names


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "write the maps"),
        ({"part": {}}, "write the maps"),
        ({"parts": {"a": {}}}, "parts.a: `patterns` is required"),
        ({"parts": {"a": {"patterns": ["(b)"], "key": 1}}}, "parts.a: unknown key"),
        ({"parts": {"a": {"patterns": ["(b"]}}}, "parts.a: .* is not a regular expression"),
        ({"parts": {"a": {"patterns": ["b"]}}}, "parts.a: 'b' has no group"),
        ({"loose": {"a": "text"}}, "loose.a: a part"),
    ],
)
def test_a_wrong_vocabulary(document: Any, message: str) -> None:
    """Each error names its place."""
    with pytest.raises(EvaluationError, match=message):
        read_vocabulary(document, "v.yaml")
