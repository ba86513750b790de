"""Statistics of a study: pure functions over tables, each with its source.

``plan`` is what an analysis asks for and ``analysis`` does all of it; tables are prepared in
``data``, tests are in ``tests``, models in ``models``, agreement of judges in ``agreement``.
Nothing here reads a store or writes text for a report.
"""

__all__: list[str] = []
