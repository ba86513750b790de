"""Many runs: batches, experiments, sweeps.

``batch`` runs, ``experiment`` and ``sweep`` declare what is run, ``plan`` says what it may use,
``evaluate`` scores what ended, ``cluster`` runs elsewhere. One run belongs to ``engine.run``,
tables and reports to ``results``.
"""

__all__: list[str] = []
