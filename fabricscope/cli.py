"""The command line: ``arguments`` declares what each command accepts, ``commands`` does the work."""

import os
import sys
from traceback import format_exception
from types import TracebackType
from typing import Annotated

import typer

from common.errors import BadInput, ConfigError, Superseded, Unavailable
from common.printing import printable
from fabricscope.arguments import (
    change,
    changes,
    check,
    collect,
    completion,
    config,
    dashboards,
    deadletter,
    detect,
    events,
    explain,
    incidents,
    init,
    ledger,
    record,
    replay,
    run,
    simulate,
    stage,
    targets,
    token,
)
from fabricscope.arguments.examples import add_epilogs
from fabricscope.arguments.old_spelling import new_spelling, rename_variables
from fabricscope.exit_status import FAILED, SUPERSEDED
from fabricscope.logs import LogFormat, LogLevel, configure_logs

LOGS_NOTHING = frozenset({"check", "completion", "config", "dashboards", "detect", "init", "version"})
"""Commands that need not wait for structlog to load."""

app = typer.Typer(
    help="Telemetry and incidents for AI training clusters: what broke first, what it costs, what to do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = (
    *(run, init, stage, incidents, targets, ledger, changes, change, events, deadletter, token),
    *(record, replay, simulate, collect, detect, explain, check, config, dashboards, completion),
)
for module in _COMMANDS:
    module.register(app)


@app.callback()
def logs(
    context: typer.Context,
    level: Annotated[LogLevel, typer.Option("--log-level", help="Least level that is logged.")] = LogLevel.INFO,
    form: Annotated[LogFormat, typer.Option("--log-format", help="How log lines look.")] = LogFormat.LOGFMT,
) -> None:
    if context.invoked_subcommand not in LOGS_NOTHING:
        configure_logs(level, form)


@app.command()
def version() -> None:
    """Print the version."""
    from fabricscope.version import VERSION

    print(f"fabricscope {VERSION}")


add_epilogs(app)


def main() -> None:
    """One plain message and an exit status for what the operator or a peer got wrong; a traceback is our own bug."""
    sys.excepthook = _print_traceback
    arguments, hints = new_spelling(sys.argv[1:])
    for hint in (*hints, *rename_variables(os.environ)):
        print(f"fabricscope: {hint}; the old name goes with the next release", file=sys.stderr)
    try:
        app(arguments)
    except (ConfigError, BadInput, Superseded, Unavailable) as error:
        _print_error(f"fabricscope: {error}")
        sys.exit(SUPERSEDED if isinstance(error, Superseded) else FAILED)


def _print_error(text: str) -> None:
    from rich.console import Console

    shown = printable(text, keep_lines=True)
    Console(stderr=True, soft_wrap=True).print(shown, style="red", markup=False, highlight=False)


def _print_traceback(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """As Python does it, without what a message may hold of others: commands for the terminal, passwords."""
    text = "".join(format_exception(kind, error, traceback))
    print(printable(text, keep_lines=True), end="", file=sys.stderr)
