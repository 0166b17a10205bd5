"""``fabricscope replay``: what would we have said?"""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from analytics.config import EngineConfig
from fabricscope.commands.options import ConfigFile
from fabricscope.replay import replay
from fabricscope.settings import load_settings
from fabricscope.terminal import incident_panel
from recordings.format import Manifest, read_manifest
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def register(app: typer.Typer) -> None:
    app.command("replay")(run)


def run(
    recording: Annotated[Path, typer.Argument(help="Folder of the recording.")],
    out: Annotated[Path, typer.Option(help="Folder for findings.jsonl and incidents.jsonl.")] = Path("data/replay"),
    speed: Annotated[
        float | None, typer.Option(min=0.001, help="Event seconds per second; default: as fast as it goes.")
    ] = None,
    config_file: ConfigFile = None,
    output: Annotated[Output, typer.Option(help="What is printed at the end.")] = Output.TEXT,
) -> None:
    """Run a recording through detection and correlation again. It never pages: its results are files.

    The analytics settings are those of the recording; with --config.file, those of the file (what if?).
    """
    manifest = read_manifest(recording)
    config = load_settings(config_file).analytics.engine if config_file else EngineConfig(**manifest.analytics)
    with _progress(manifest) as progress:
        task = progress.add_task("replaying", total=max(1, sum(part.samples for part in manifest.slices)), at="")
        done = replay(
            recording,
            out,
            config,
            speed=speed,
            progress=lambda so_far: progress.update(task, completed=so_far.samples, at=_clock(so_far.at_ns)),
        )
    if output is Output.JSON:
        print(json.dumps(asdict(done)))
        return
    console = Console()
    for incident in _last_versions(out / "incidents.jsonl"):
        console.print(incident_panel(incident))
    console.print(
        f"{done.samples:,} samples, {done.findings:,} finding versions, {done.incidents:,} incident versions: {out}"
    )


def _progress(manifest: Manifest) -> Progress:
    """On standard error, so that standard output stays the result."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[at]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), disable=not manifest.slices)


def _last_versions(path: Path) -> list[Incident]:
    versions = (decode_record(line, Incident) for line in path.read_bytes().splitlines())
    return list({incident.id: incident for incident in versions}.values())


def _clock(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
