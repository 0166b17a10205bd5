"""``fabricscope ingest | analytics | alerts | export | recorder | api``: one stage in this process."""

from collections.abc import Callable

import typer

from fabricscope.arguments.options import ConfigFile

HELP = {
    "ingest": "Run the collectors.",
    "analytics": "Run detection and correlation.",
    "alerts": "Run notification of receivers.",
    "export": "Run remote write to Prometheus.",
    "recorder": "Run the flight recorder.",
    "api": "Run the HTTP API and the NOC page.",
}


def register(app: typer.Typer) -> None:
    for name, text in HELP.items():
        app.command(name, help=text)(_command(name))


def _command(name: str) -> Callable[..., None]:
    def command(config_file: ConfigFile = None) -> None:
        import uvloop

        from fabricscope.running.process import run_stage
        from fabricscope.running.reload import run_again
        from fabricscope.settings import Settings, load_settings
        from fabricscope.stages import Stage

        def load() -> Settings:
            return load_settings(config_file)

        if uvloop.run(run_stage(Stage(name), load(), load)):
            run_again()

    return command
