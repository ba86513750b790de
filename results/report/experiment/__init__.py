"""The report of an experiment.

Data from the store, findings, the answer in one sentence; each section is one file in ``sections``.
"""

__all__: list[str] = []
