"""Reading specs: strict YAML, schema, faults, normal form."""

__all__: list[str] = []
