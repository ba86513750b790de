"""verify_claim: verdicts by words and figures, and the limits of that."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.tools.records.claim_parser import Quantity, agree, read_statement
from orglab.engine.tools.records.verify_claim import LONGEST_CLAIM, VerifyClaim
from orglab.providers.base import JSON, ToolError

STORE: Sequence[Mapping[str, JSON]] = [
    {
        "id": "F15",
        "product": "F15",
        "says": {
            "gpu": "NVIDIA GeForce RTX 4060 Laptop GPU, 8 GB GDDR6, 85 W",
            "cpu": "Intel Core i7-13650HX",
            "ram": "16 GB DDR5-5600",
            "storage": "1 TB PCIe 4.0 NVMe SSD",
            "display": "15.6-inch 1920 x 1080 IPS",
            "refresh_rate": "144 Hz",
            "weight": "2.30 kg",
            "price": "1,318.99 US dollars",
            "customers": "8 customer reviews",
        },
    },
    {"id": "r1", "product": "F15", "says": "The fans are very loud under load. It weighs a lot."},
    {"id": "r2", "product": "F15", "says": "The battery lasts about 3 hours of video."},
    {"id": "r3", "product": "F15", "says": "No coil whine at all. Half of the keys wobble."},
    {"id": "r4", "product": "H16", "says": "The hinge creaks. The battery lasts 8 hours of video."},
]
SYNONYMS = {
    "cpu": ["processor"],
    "ram": ["memory"],
    "weight": ["weigh"],
    "price": ["cost"],
    "gpu": ["graphics"],
}


@pytest.fixture
def verify(tmp_path: Path) -> Any:
    """Verifies a claim against the store."""
    file = tmp_path / "store.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in STORE), encoding="utf-8")

    async def call(claim: str, **settings: Any) -> Any:
        used = {"text": "says", "where": {"product": "F15"}, "synonyms": SYNONYMS, **settings}
        return await VerifyClaim(file=file, **used).call({"claim": claim})

    return call


@pytest.mark.parametrize(
    ("claim", "verdict", "source"),
    [
        ("The GPU is an RTX 4060.", "supported", "F15"),
        ("The GPU is an RTX 4070.", "contradicted", "F15"),
        ("The GPU is an RTX 4060 Ti.", "contradicted", "F15"),
        ("The processor is an Intel Core i7-13650HX.", "supported", "F15"),
        ("The processor is an Intel Core i7-13620H.", "contradicted", "F15"),
        ("It has 16GB of RAM.", "supported", "F15"),
        ("It has 32 GB of memory.", "contradicted", "F15"),
        ("Storage is 1000 GB.", "supported", "F15"),
        ("It weighs 5.07 pounds.", "supported", "F15"),
        ("It weighs 2.1 kg.", "contradicted", "F15"),
        ("The price is $1,318.99.", "supported", "F15"),
        ("The display has 1920\u00d71080.", "supported", "F15"),
        ("Reviewers say that the fan is loud.", "supported", "r1"),
        ("The fan is quiet.", "unsupported", "r1"),
        ("The battery lasts 3 hours.", "supported", "r2"),
        ("The battery lasts 8 hours.", "contradicted", "r2"),
        ("It has 8 customer reviews.", "supported", "F15"),
        ("It has 12 customer reviews.", "contradicted", "F15"),
        ("There is no coil whine.", "supported", "r3"),
        ("There is coil whine.", "unsupported", "r3"),
        ("The trackpad rattles.", "unsupported", None),
        ("The hinge creaks.", "unsupported", None),
    ],
)
async def test_verdicts(claim: str, verdict: str, source: str | None, verify: Any) -> None:
    """Each with the record that speaks for or against it; other products are not there."""
    found = await verify(claim)
    assert found["verdict"] == verdict
    assert [one["id"] for one in found["evidence"][:1]] == ([source] if source else [])
    assert (found["reason"] == "") is (verdict == "supported")
    assert found["searched"] == 4


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("The GPU is an RTX 4070.", "a record says '4060', the claim '4070'"),
        ("The hinge creaks.", "no record has any word of the claim"),
        ("The fan is quiet.", "of its words by weight, 60% asked for"),
        ("There is coil whine.", "one denies what the other says"),
        ("7 of the fans are loud.", "the nearest record does not say '7'"),
    ],
)
async def test_reasons(claim: str, reason: str, verify: Any) -> None:
    """What is wrong, in words."""
    assert reason in (await verify(claim))["reason"]


async def test_evidence_and_score(verify: Any) -> None:
    """The sentences that were compared, with their places; the score is between 0 and 1."""
    found = await verify("The processor is an Intel Core i7-13650HX.")
    assert found["score"] == 1.0
    assert found["evidence"][0] == {
        "id": "F15", "field": "says.cpu", "text": "Intel Core i7-13650HX", "score": 1.0,
    }  # fmt: skip
    assert len((await verify("battery, fan, coil", limit=2))["evidence"]) == 2
    assert (await verify("The trackpad rattles."))["score"] == 0.0
    assert 0 < (await verify("The fan is quiet."))["score"] < 0.6


async def test_several_sentences_of_one_record(verify: Any) -> None:
    """They may bear a claim out together; sentences of two records may not."""
    one = await verify("It has 16 GB of RAM and storage of 1 TB.")
    assert one["verdict"] == "supported"
    assert {each["field"] for each in one["evidence"][:2]} == {"says.ram", "says.storage"}
    two = await verify("Fans are loud, keys wobble.")
    assert two["verdict"] == "unsupported"


async def test_settings_decide(verify: Any) -> None:
    """Words that do not count, and how many of the others must be found."""
    claim = "The laptop has a loud fan."
    assert (await verify(claim, ignore=["laptop"]))["verdict"] == "supported"
    strict = await verify("The chassis has a loud fan.", threshold=1)
    assert strict["verdict"] == "unsupported"
    assert (await verify("The hinge creaks.", where={}))["verdict"] == "supported"
    assert (await verify("The fan is loud.", text=()))["verdict"] == "supported"
    with pytest.raises(ValueError, match="`threshold: 0` must be above 0"):
        await verify("x", threshold=0)
    with pytest.raises(ValueError, match="`limit: 0` must be"):
        await verify("x", limit=0)


async def test_known_limits(verify: Any) -> None:
    """What words cannot tell, as the page says: it must not get worse unseen."""
    assert (await verify("The load is loud under fans."))["verdict"] == "supported"
    assert (await verify("It is noisy when working hard."))["verdict"] == "unsupported"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("It is so.", "no word to look for"),
        ("x" * (LONGEST_CLAIM + 1), "longer than 500 characters"),
    ],
)
async def test_refusals(claim: str, words: str, verify: Any) -> None:
    """In words that a model can act on."""
    with pytest.raises(ToolError, match=words):
        await verify(claim)


async def test_the_same_claim_gives_the_same(verify: Any) -> None:
    """Nothing is drawn at random."""
    claim = "The battery lasts 3 hours."
    assert await verify(claim) == await verify(claim)


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("16GB and 1 TB", [("GB", 16.0), ("GB", 1000.0)]),
        ("15.6-inch, 144 Hz", [("inch", 15.6), ("Hz", 144.0)]),
        ("an i7-13650HX", [("", "i7"), ("i7", "13650hx")]),
        ("RTX 4060 Ti", [("rtx", "4060 ti")]),
        ("$1,318.99 or 30%", [("USD", 1318.99), ("%", 30.0)]),
        ("2560 x 1600", [("", "2560x1600")]),
        ("90 minutes", [("hour", 1.5)]),
        ("the 3 fans and 2 of them", [("fan", 3.0), ("", 2.0)]),
    ],
)
def test_figures(text: str, figures: Sequence[tuple[str, JSON]]) -> None:
    """Quantities in one unit, codes, and what stands before a bare number."""
    read = read_statement(text).figures
    assert [(each.kind, each.value) for each in read] == list(figures)


def test_figures_that_agree() -> None:
    """Converted ones may be rounded, others not; a bare number of another thing does not agree."""
    kilograms = Quantity("kg", 2.3, "2.3 kg")
    assert agree(Quantity("kg", 2.2997, "5.07 lb", converted=True), kilograms)
    assert not agree(Quantity("kg", 2.31, "2.31 kg"), kilograms)
    assert not agree(Quantity("rtx", 4060.0, "4060"), Quantity("price", 4060.0, "4060"))
    assert agree(Quantity("", 3.0, "3"), Quantity("fan", 3.0, "3"))
