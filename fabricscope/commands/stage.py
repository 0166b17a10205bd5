"""``fabricscope ingest | analytics | alerts | export | recorder | api``: one stage in this process."""

from collections.abc import Callable

import typer
import uvloop

from fabricscope.commands.options import ConfigFile
from fabricscope.settings import load_settings
from fabricscope.stages import Stage, run_stage

_HELP = {
    Stage.INGEST: "Run the collectors.",
    Stage.ANALYTICS: "Run detection and correlation.",
    Stage.ALERTS: "Run paging.",
    Stage.EXPORT: "Run remote write to Prometheus.",
    Stage.RECORDER: "Run the flight recorder.",
    Stage.API: "Run the HTTP API and the NOC page.",
}


def register(app: typer.Typer) -> None:
    for stage in Stage:
        app.command(stage.value, help=_HELP[stage])(_command(stage))


def _command(stage: Stage) -> Callable[..., None]:
    def command(config_file: ConfigFile = None) -> None:
        uvloop.run(run_stage(stage, load_settings(config_file)))

    return command
