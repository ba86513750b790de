"""Measures of runs and outputs, behind one port.

``base`` is the port, ``evaluate`` applies many evaluators to one run. A measure is one file in
``text``, ``structured``, ``process`` or ``judge``, and an entry point. Statistics over scores
belong to ``results.statistics``.
"""

if __name__ == "evaluators":  # a second copy of every class would follow
    raise ImportError("import orglab.evaluators, not evaluators")

__all__: list[str] = []
