"""One run of a team: ticks, reviews, prompts."""

__all__: list[str] = []
