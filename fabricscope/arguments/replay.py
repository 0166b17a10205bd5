"""``fabricscope replay``: what would the program have found?"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def register(app: typer.Typer) -> None:
    app.command("replay")(replay)


def replay(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    out: Annotated[Path, typer.Option(help="Folder for findings.jsonl and incidents.jsonl.")] = Path("data/replay"),
    speed: Annotated[
        float | None, typer.Option(min=0.001, help="Event seconds per second; default: as fast as it goes.")
    ] = None,
    config_file: ConfigFile = None,
    output: Annotated[Output, typer.Option(help="What is printed at the end.")] = Output.TEXT,
) -> None:
    """Run a recording through detection and correlation again. It never pages: its results are files.

    The analytics settings are those of the recording; with --config, those of the file (what if?).
    """
    from common.garbage import collect_less_often
    from fabricscope.commands.replay import print_incidents, print_json, replay_with_progress

    collect_less_often()
    totals = replay_with_progress(recording, out, speed, config_file)
    if output is Output.JSON:
        print_json(totals)
    else:
        print_incidents(out, totals)
