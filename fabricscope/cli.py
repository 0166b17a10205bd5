"""The command line: ``arguments`` declares what each command accepts, ``commands`` does the work."""

import os
import sys
from typing import Annotated

import typer

from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.arguments import change, check, collect, config, detect, explain, record, replay, run, simulate, stage
from fabricscope.arguments.old_spelling import new_spelling, rename_variables
from fabricscope.logs import LogFormat, LogLevel, configure_logs

LOGS_NOTHING = frozenset({"check", "config", "version"})  # and so need not wait for structlog to load

app = typer.Typer(
    help="Telemetry and incidents for AI training clusters: what broke first, what it costs, what to do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (run, stage, change, record, replay, simulate, collect, detect, explain, check, config):
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


def main() -> None:
    """Exit status 1 and one plain message for what the operator or a peer got wrong; a traceback is our own bug."""
    arguments, hints = new_spelling(sys.argv[1:])
    for hint in (*hints, *rename_variables(os.environ)):
        print(f"fabricscope: {hint}; the old name goes with the next release", file=sys.stderr)
    try:
        app(arguments)
    except (ConfigError, BadInput, Unavailable) as error:
        _print_error(f"fabricscope: {error}")
        sys.exit(1)


def _print_error(text: str) -> None:
    from rich.console import Console

    Console(stderr=True, soft_wrap=True).print(text, style="red", markup=False, highlight=False)
