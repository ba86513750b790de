"""Sweeps: factors, designs and the variants they make.

Loading, factors and levels, designs (grid, zip, random, latin), variants of the base teams.
"""

__all__: list[str] = []
