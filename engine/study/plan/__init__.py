"""What a study may use, before it is run.

Upper bounds and estimates of calls, tokens and dollars, prices, dry runs of prompts, an overview of
models, and why a stored call was not used.
"""

__all__: list[str] = []
