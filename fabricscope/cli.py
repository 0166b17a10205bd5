"""The command line: one file a command in ``commands/``, put together here."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.commands import announce, check, collect, config, detect, explain, record, replay, run, simulate, stage
from fabricscope.logs import LogFormat, LogLevel, configure_logs
from fabricscope.version import VERSION

app = typer.Typer(
    help="Telemetry and incidents for AI training clusters: what broke first, what it costs, what to do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (run, stage, announce, record, replay, simulate, collect, detect, explain):
    module.register(app)
app.add_typer(check.app, name="check")
app.add_typer(config.app, name="config")


@app.callback()
def logs(
    level: Annotated[LogLevel, typer.Option("--log.level", help="Least level that is logged.")] = LogLevel.INFO,
    form: Annotated[LogFormat, typer.Option("--log.format", help="How log lines look.")] = LogFormat.LOGFMT,
) -> None:
    configure_logs(level, form)


@app.command()
def version() -> None:
    """Print the version."""
    print(f"fabricscope {VERSION}")


def main() -> None:
    """Exit status 1 and one plain message for what the operator or a peer got wrong; a traceback is our own bug."""
    try:
        app()
    except (ConfigError, BadInput, Unavailable) as error:
        Console(stderr=True, soft_wrap=True).print(f"fabricscope: {error}", style="red", markup=False, highlight=False)
        sys.exit(1)
