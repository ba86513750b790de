"""``python -m orglab``."""

from orglab.cli.app import main

if __name__ == "__main__":
    main()
