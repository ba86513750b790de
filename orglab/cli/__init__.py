"""The command line: ``orglab check | graph | render | run | show | export | schema | new | models``."""

from orglab.cli.app import main

__all__ = ["main"]
