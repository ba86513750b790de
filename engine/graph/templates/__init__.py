"""The templates that authors write: sandboxed Jinja.

The environment, its filters, limits on time and memory, and template errors in plain English. The
texts that the engine itself adds to prompts are in ``engine.prompts``; rendering for a turn is in
``engine.run.prompts``.
"""

__all__: list[str] = []
