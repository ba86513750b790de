"""The application: every command, and what an error looks like to a person.

Exit codes: 0 done; 1 some runs failed or were stopped; 2 the spec or the command is wrong; 3 a gate
said no.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from io import TextIOWrapper
from typing import Annotated

import typer

from orglab.cli.spec_commands.check import check
from orglab.cli.spec_commands.diff import GATE, diff
from orglab.cli.spec_commands.graph import graph
from orglab.cli.spec_commands.models import models
from orglab.cli.spec_commands.new import new
from orglab.cli.spec_commands.render import render
from orglab.cli.spec_commands.schema import schema
from orglab.cli.study_commands.compare import compare
from orglab.cli.study_commands.evaluate import evaluate
from orglab.cli.study_commands.explain_call import explain
from orglab.cli.study_commands.export import export
from orglab.cli.study_commands.plan import plan
from orglab.cli.study_commands.power import power_of
from orglab.cli.study_commands.report import report
from orglab.cli.study_commands.run import run
from orglab.cli.study_commands.show import show
from orglab.engine.run.calls.model_call import NotTheRecordedCall
from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.units import UnitError
from orglab.engine.study.experiment.experiment import UndeclaredDifference
from orglab.providers.terminal_safety import visible
from orglab.results.store.group_commit import StoreError
from orglab.results.store.lock import StudyLocked

WRONG = 2
"""Exit code: the spec or the command is wrong."""

app = typer.Typer(
    name="orglab",
    help="A laboratory for organisations of language-model agents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for name, command in (
    ("check", check),
    ("graph", graph),
    ("render", render),
    ("diff", diff),
    ("plan", plan),
    ("run", run),
    ("show", show),
    ("compare", compare),
    ("report", report),
    ("evaluate", evaluate),
    ("export", export),
    ("schema", schema),
    ("new", new),
    ("models", models),
    ("explain-call", explain),
    ("power", power_of),
):
    app.command(name, short_help=(command.__doc__ or "").partition("\n")[0])(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"orglab {installed('orglab')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Run experiments on organisations of language-model agents."""


def _replace_unprintable() -> None:
    """Write `?` for what the terminal's encoding lacks: no command ends midway for a sign."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def main() -> None:
    """Run the command line; errors that a user can correct are reported as text, without a traceback."""
    _replace_unprintable()
    try:
        app()
    except SpecError as error:
        _exit_with([str(issue) for issue in error.issues])
    except UnitError as error:
        _exit_with(list(error.issues))
    except UndeclaredDifference as error:
        _exit_with(list(error.lines), GATE)
    except (NotTheRecordedCall, StoreError, StudyLocked, OSError, ValueError) as error:
        _exit_with([str(error)])


def _exit_with(lines: list[str], code: int = WRONG) -> None:
    for line in lines:
        sys.stderr.write(f"{visible(line)}\n")  # an issue quotes what an untrusted author wrote
    sys.exit(code)
