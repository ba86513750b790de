"""Many runs of teams on units of work.

Units, the study's folder, the batch runner, money budget, clean stops, replies shared between runs.
"""

__all__: list[str] = []
