"""The application: every command, and what a fault looks like to a person.

Exit codes: 0 done; 1 some runs failed or were stopped; 2 the spec or the command is wrong; 3 a gate
said no.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from typing import Annotated

import typer

from orglab.cli.check_graph_render import check, graph, new, render, schema
from orglab.cli.compare import compare
from orglab.cli.diff import GATE, diff
from orglab.cli.evaluate_explain import evaluate, explain
from orglab.cli.models import models
from orglab.cli.plan import plan
from orglab.cli.power import power_of
from orglab.cli.report import report
from orglab.cli.run import run
from orglab.cli.show_export import export, show
from orglab.engine.run.turn import NotTheRecordedCall
from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.units import UnitError
from orglab.engine.study.experiment.load import UndeclaredDifference
from orglab.providers.terminal_safety import visible
from orglab.results.store.group_commit import StoreError
from orglab.results.store.lock import StudyLocked

__all__ = ["WRONG", "app", "main"]

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
    """A laboratory for organisations of language-model agents."""


def main() -> None:
    """Runs the command line; faults that a user can mend are told in words, without a traceback."""
    try:
        app()
    except SpecError as error:
        _tell([str(fault) for fault in error.faults])
    except UnitError as error:
        _tell(list(error.faults))
    except UndeclaredDifference as error:
        _tell(list(error.lines), GATE)
    except (NotTheRecordedCall, StoreError, StudyLocked, OSError, ValueError) as error:
        _tell([str(error)])


def _tell(lines: list[str], code: int = WRONG) -> None:
    for line in lines:
        sys.stderr.write(f"{visible(line)}\n")  # a fault quotes what a stranger wrote
    sys.exit(code)
