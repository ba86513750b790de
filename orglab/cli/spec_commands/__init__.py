"""Commands on a spec, one file each: check, graph, render, diff, models, schema, new.

They read specs and call no model. Commands that make or read studies are in `study_commands`.
"""

__all__: list[str] = []
