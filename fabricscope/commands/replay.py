"""A replay with its progress on standard error, and what it found on standard output."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from analytics.config import EngineConfig
from fabricscope.replay import ReplayTotals, replay
from fabricscope.settings import load_settings
from fabricscope.terminal import incident_panel
from recordings.manifest import Manifest, read_manifest
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident


def replay_with_progress(recording: Path, out: Path, speed: float | None, config_file: Path | None) -> ReplayTotals:
    """See ``replay``; without a settings file the engine has those of the recording."""
    manifest = read_manifest(recording)
    config = load_settings(config_file).analytics.engine if config_file else EngineConfig(**manifest.analytics)
    with _progress(manifest) as progress:
        task = progress.add_task("replaying", total=max(1, sum(part.samples for part in manifest.slices)), at="")
        return replay(
            recording,
            out,
            config,
            speed=speed,
            progress=lambda so_far: progress.update(task, completed=so_far.samples, at=_clock(so_far.at_ns)),
        )


def print_json(totals: ReplayTotals) -> None:
    print(json.dumps(asdict(totals)))


def print_incidents(out: Path, totals: ReplayTotals) -> None:
    """The last version of each incident, and the totals."""
    console = Console()
    for incident in _last_versions(out / "incidents.jsonl"):
        console.print(incident_panel(incident))
    counted = f"{totals.findings:,} finding versions, {totals.incidents:,} incident versions"
    console.print(f"{totals.samples:,} samples, {counted}: {out}")


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
