"""``fabricscope collect``: do my targets answer, and with what?"""

from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile, duration


def register(app: typer.Typer) -> None:
    app.command("collect")(collect)


def collect(
    config_file: ConfigFile = None,
    lasts: Annotated[
        float,
        typer.Option("--for", parser=duration, metavar="DURATION", help="How long to listen.", show_default="20s"),
    ] = 20.0,
    samples: Annotated[int, typer.Option(min=0, help="Samples of each target that are printed.")] = 3,
) -> None:
    """Run the collectors for a moment and print what they collect. Exit status 1 when a target is down."""
    from fabricscope.commands.collect import collect_and_print

    if not collect_and_print(config_file, lasts, samples):
        raise typer.Exit(1)
