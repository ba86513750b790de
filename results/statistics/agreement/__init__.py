"""Agreement and severity of judges.

Krippendorff's alpha and raw agreement; how severe each judge is.
"""

__all__: list[str] = []
