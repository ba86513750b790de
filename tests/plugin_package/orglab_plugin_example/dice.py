"""Dice that fall the same way for the same seed and throw."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from orglab.providers.base import JSON, Tool, ToolError

__all__ = ["Dice"]


@dataclass(frozen=True, kw_only=True)
class Dice(Tool):
    """Throws dice.

    Attributes:
        seed: Two tools with one seed throw the same.
        most: Dice that may be thrown at once.
    """

    description: ClassVar[str] = "Throws dice; the same throw always falls the same way."
    parameters: ClassVar[Mapping[str, JSON]] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["dice"],
        "properties": {
            "dice": {"type": "integer", "minimum": 1, "description": "How many dice"},
            "throw": {"type": "integer", "minimum": 1, "default": 1, "description": "Which throw"},
        },
    }

    seed: int = 0
    most: int = 10

    async def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """Throws."""
        dice = arguments["dice"]
        if dice > self.most:
            raise ToolError(f"{dice} dice are too many: throw {self.most} at most")
        drawn = random.Random(f"{self.seed} {dice} {arguments.get('throw', 1)}")
        faces = [drawn.randint(1, 6) for _ in range(dice)]
        return {"faces": faces, "sum": sum(faces)}
