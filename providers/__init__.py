"""Model providers, one file each, behind one port."""

if __name__ == "providers":  # a second copy of every class would follow
    raise ImportError("import orglab.providers, not providers")

__all__: list[str] = []
