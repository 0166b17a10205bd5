"""All stages of one machine as child processes, and their incidents on the terminal."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from bus.base import Bus, Gap
from bus.open import open_bus
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import Stage
from fabricscope.stopping import stop_on_signals
from fabricscope.supervisor import Child
from fabricscope.terminal import incident_panel
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentState
from telemetry.ledger import StageReport


async def run_all_in_one(config_file: Path, running: Sequence[Child] = ()) -> None:
    """Until Ctrl-C or SIGTERM. running: children that were started before, to stop with the stages."""
    settings = load_settings(config_file)
    console = Console()
    stopping = stop_on_signals()
    stages = stage_children(config_file, settings)
    bus = open_bus(settings.bus)
    try:
        for stage in stages:
            await stage.start()
        await bus.start()
        console.print(
            f"NOC page and API: [bold]http://{settings.api.host}:{settings.api.port}[/]   (Ctrl-C stops everything)"
        )
        printing = asyncio.create_task(print_incidents(bus, console))
        await stopping.wait()
        printing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await printing
    finally:
        console.print("Stopping…")
        await asyncio.gather(*(child.stop() for child in (*stages, *running)))
        await bus.stop()
        console.print("Stopped.")


def stage_children(config_file: Path, settings: Settings) -> list[Child]:
    """A child for each stage that the settings ask for."""
    enabled = {
        Stage.INGEST: True,
        Stage.ANALYTICS: True,
        Stage.ALERTS: bool(settings.alerting.receivers),
        Stage.EXPORT: bool(settings.remote_write),
        Stage.RECORDER: settings.recording is not None,
        Stage.API: True,
    }
    logs = settings.general.data_dir / "logs"
    return [
        Child(stage.value, [stage.value, "--config", str(config_file)], logs / f"{stage.value}.log")
        for stage, is_enabled in enabled.items()
        if is_enabled
    ]


async def print_incidents(bus: Bus, console: Console) -> None:
    """Prints each incident when it fires and when it is resolved, once; below, one line from the stages' reports."""
    reader = bus.consume([topics.INCIDENTS, topics.LEDGER], {})
    shown: set[tuple[str, IncidentState]] = set()
    reports: dict[str, StageReport] = {}
    try:
        with console.status("starting…") as status:
            while True:
                with contextlib.suppress(Gap):
                    for record in await reader.poll():
                        if record.value is None:
                            continue
                        if record.topic == topics.LEDGER.name:
                            report = decode_record(record.value, StageReport)
                            reports[report.stage] = report
                            status.update(state_line(reports))
                            continue
                        incident = decode_record(record.value, Incident)
                        if incident.state is not IncidentState.PENDING and (incident.id, incident.state) not in shown:
                            shown.add((incident.id, incident.state))
                            console.print(incident_panel(incident))
    finally:
        await reader.stop()


def state_line(reports: Mapping[str, StageReport]) -> str:
    """The newest report of each stage in one line."""
    parts = []
    if "ingest" in reports:
        details = reports["ingest"].details
        parts.append(f"{details['targets_up']:.0f} of {details['targets']:.0f} polled targets up")
    if "analytics" in reports:
        report = reports["analytics"]
        parts.append(f"{report.details['series']:,.0f} series, {report.samples_out:,} samples evaluated")
        parts.append(f"{report.details['findings_active']:.0f} findings")
    return " · ".join(parts) or "starting…"
