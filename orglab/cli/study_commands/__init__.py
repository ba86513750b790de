"""Commands that plan, run, read or score a study, one file each.

Commands that need a spec alone are in `spec_commands`; options of several commands in `options`.
"""

__all__: list[str] = []
