"""docs/reference/cli.md names every command with its options, and nothing else.

``python tests/docs/test_cli_page.py`` prints the tables of options as the commands define them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from orglab.cli.app import app

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"


def defined() -> dict[str, set[str]]:
    """Return the options of each command, as the command line takes them."""
    commands = getattr(typer.main.get_command(app), "commands")  # noqa: B009 - click's group
    return {
        name: {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("--") and option != "--help"
        }
        for name, command in commands.items()
        if not command.hidden
    }


def documented() -> dict[str, set[str]]:
    """Return the options of each section of the page."""
    sections = re.split(r"^## `orglab ([\w-]+)`.*$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    found = zip(sections[1::2], sections[2::2], strict=True)
    return {
        name: {
            option
            for row in re.findall(r"^\| (`--.*?) \|", text, re.MULTILINE)
            for option in re.findall(r"--[\w-]+", row)
        }
        for name, text in found
    }


@pytest.mark.parametrize("command", sorted(defined()))
def test_every_option_is_on_the_page(command: str) -> None:
    """And no other."""
    assert documented()[command] == defined()[command]


def test_every_command_is_on_the_page() -> None:
    """In a section of its own."""
    assert set(documented()) == set(defined())


if __name__ == "__main__":
    for name, command in getattr(typer.main.get_command(app), "commands").items():  # noqa: B009
        print(f"## `orglab {name}`\n\n{command.help}\n\n| option | meaning |\n|---|---|")
        for each in command.params:
            options = ", ".join(f"`{option}`" for option in (*each.opts, *each.secondary_opts))
            print(f"| {options} | {getattr(each, 'help', '')} |")
        print()
