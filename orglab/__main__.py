"""``python -m orglab``."""

from orglab.cli.app import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
