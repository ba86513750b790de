"""One run of a team.

The engine's loop over ticks, turns, reviews, routing along links, limits, runs within runs. What a
call is made of is in ``calls``, the prompts of a turn in ``prompts``. Many runs belong to
``engine.study``; retries and rate limits of a model to ``providers.client``.
"""

__all__: list[str] = []
