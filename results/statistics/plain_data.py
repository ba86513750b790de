"""Results as plain data for strict JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from orglab.providers.base import JSON

__all__ = ["plain_data"]


def plain_data(value: object) -> JSON:
    """Dataclasses as mappings, tuples as lists, numbers of NumPy as Python's.

    Numbers that are not finite become None: missing is null, and strict JSON has no NaN.

    Raises:
        TypeError: A value that JSON does not have.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain_data(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_data(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data")
