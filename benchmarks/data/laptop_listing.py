"""Listings of laptops that do not exist, for ``generate_laptops.py``; draws that are portable."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

PARTS: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent / "laptop_parts.toml").read_text(encoding="utf-8")
)
LETTERS = "0123456789BCDFGHJKLMNPQRSTVWXZ"
BASE_PRICE = 799

Row = dict[str, Any]
T = TypeVar("T")


def below(rng: Random, n: int) -> int:
    """A whole number from 0 to n - 1."""
    return int(rng.random() * n)


def choice(rng: Random, items: Sequence[T]) -> T:
    """One of the items."""
    return items[below(rng, len(items))]


def shuffled(rng: Random, items: Iterable[T]) -> list[T]:
    """The items in a drawn order (Fisher and Yates)."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = below(rng, last + 1)
        result[last], result[other] = result[other], result[last]
    return result


def number(rng: Random, taken: set[str]) -> str:
    """A product number of ten characters that no shop gives: it begins with SYN."""
    while True:
        text = "SYN" + "".join(choice(rng, LETTERS) for _ in range(7))
        if text not in taken:
            taken.add(text)
            return text


def hardware(rng: Random) -> tuple[int, dict[str, str], int]:
    """The size in inches, the specifications (seven to nine), and what they add to the price."""
    cpu, cpu_price = choice(rng, PARTS["cpu"])
    ram, ram_price = choice(rng, PARTS["ram"])
    storage, storage_price = choice(rng, PARTS["storage"])
    size, display, display_price = choice(rng, PARTS["display"])
    watts = choice(rng, PARTS["watts"])
    low, high = PARTS["weight"][str(size)]
    specs = {
        "gpu": f"NVIDIA GeForce RTX 4060 Laptop GPU, 8 GB GDDR6, {watts} W",
        "cpu": cpu,
        "ram": ram,
        "storage": storage,
        "display": display,
        "refresh_rate": choice(rng, PARTS["refresh_rate"]),
        "battery": choice(rng, PARTS["battery"]),
        "weight": f"{(low + below(rng, high - low + 1)) / 100:.2f} kg",
        "os": choice(rng, PARTS["os"]),
    }
    for optional in ("battery", "weight"):
        if rng.random() < 0.25:
            del specs[optional]
    return size, specs, cpu_price + ram_price + storage_price + display_price + 2 * (watts - 60)


def listing(rng: Random, taken: set[str]) -> Row:
    """A product as a shop lists it, without its rating."""
    size, specs, extra = hardware(rng)
    brand = choice(rng, PARTS["brands"])
    model = f"{choice(rng, PARTS['lines'])} {size}"
    ram = " ".join(specs["ram"].split()[:2])
    storage = " ".join(specs["storage"].split()[:2])
    return {
        "product": number(rng, taken),
        "title": f"{brand} {model} Gaming Laptop, {specs['cpu']}, GeForce RTX 4060, {ram} RAM, "
        f"{storage} SSD",
        "brand": brand,
        "price": BASE_PRICE + 10 * ((extra + below(rng, 180)) // 10) - 0.01,
        "specs": specs,
    }
