"""The id by which a run is known: of what it is a run, and nothing else."""

from __future__ import annotations

import hashlib


def parts_digest(*parts: str) -> str:
    """Return a hex digest of texts, each set off from the next by its length."""
    text = ""
    for part in parts:
        text += f"{len(part)}:{part}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def text_digest(text: str) -> str:
    """Return the name of a stored text: BLAKE2b of its UTF-8, 16 bytes, as 32 hex digits."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def run_id(spec: str, unit: str, content: str, replicate: int, seed: int, arm: str) -> str:
    """Return the id of a run.

    Args:
        spec: The hash of its spec.
        unit: The unit's id.
        content: A digest of all that the unit holds.
        replicate: The replicate.
        seed: The root seed.
        arm: What reports its runs from those of other arms; "" outside experiments.
    """
    return parts_digest(spec, unit, content, str(replicate), str(seed), arm)
