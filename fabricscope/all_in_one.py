"""All stages of one machine as child processes, and their incidents on the terminal."""

import asyncio
import contextlib
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from bus.base import Bus, Gap
from bus.open import open_bus
from bus.owner.fence import OwnerFence
from common.errors import ConfigError
from common.tasks import cancel
from fabricscope.api.config import ApiConfig
from fabricscope.running.children import StageChildren
from fabricscope.running.stopping import stop_on_signals
from fabricscope.running.supervisor import Child
from fabricscope.terminal import incident_panel
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentState
from telemetry.ledger import StageReport

LOOK_AGAIN_S, ANSWER_S = 0.2, 2.0
STARTING = "starting; the first start on a machine compiles for half a minute"


async def run_all_in_one(config_file: Path, running: Sequence[Child] = ()) -> None:
    """Until Ctrl-C or SIGTERM. running: children that were started before, to stop with the stages.

    ConfigError with the words of a stage that cannot start.
    """
    stages = StageChildren(config_file)
    settings = stages.settings
    console = Console()
    stopping = stop_on_signals()
    bus = open_bus(settings.bus)
    try:
        await stages.start()
        reloading = asyncio.create_task(reload_on_signals(stages))
        await bus.start()
        announcing = asyncio.create_task(announce(settings.api, console))
        printing = asyncio.create_task(print_incidents(bus, console))
        waiting = asyncio.create_task(stopping.wait())
        refused = asyncio.create_task(stages.refusal())
        await asyncio.wait([waiting, refused], return_when=asyncio.FIRST_COMPLETED)
        problem = refused.result() if refused.done() else None
        await cancel([announcing, printing, reloading, waiting, refused])
        if problem is not None:
            raise ConfigError(problem)
    finally:
        console.print("Stopping…")
        await asyncio.gather(stages.stop(), *(child.stop() for child in running))
        await bus.stop()
        console.print("Stopped.")


async def announce(api: ApiConfig, console: Console) -> None:
    """Prints the address of the NOC page once it is there, and not what else listens on its port."""
    while not await _answers(api):  # noqa: ASYNC110  # another process begins to listen
        await asyncio.sleep(LOOK_AGAIN_S)
    scheme = "https" if api.tls_cert_file else "http"
    console.print(f"NOC page and API: [bold]{scheme}://{api.host}:{api.port}[/]   (Ctrl-C stops everything)")
    console.print(f"Token to change something: {api.state_dir / 'local.token'}", highlight=False)


async def _answers(api: ApiConfig) -> bool:
    try:
        reader, writer = await asyncio.open_connection(api.host, api.port)
        with contextlib.closing(writer):
            if api.tls_cert_file:  # its certificate may be for another name, so nothing more is asked
                return True
            writer.write(b"GET /-/healthy HTTP/1.0\r\nHost: %b\r\n\r\n" % api.host.encode())
            answer = await asyncio.wait_for(reader.read(4096), ANSWER_S)
    except (OSError, TimeoutError):
        return False
    return b" 200 " in answer.split(b"\r\n", 1)[0] and b"Fabricscope" in answer


async def reload_on_signals(stages: StageChildren) -> None:
    """One reload after the other, for ever: those that are asked for meanwhile are one."""
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, asked.set)
    while True:
        await asked.wait()
        asked.clear()
        await stages.reload()


async def print_incidents(bus: Bus, console: Console) -> None:
    """Prints each incident when it fires and when it is resolved, once; below, one line from the stages' reports."""
    reader = bus.consume([topics.INCIDENTS, topics.LEDGER], {})
    shown: set[tuple[str, IncidentState]] = set()
    reports: dict[str, StageReport] = {}
    fence = OwnerFence()
    try:
        with console.status(STARTING) as status:
            while True:
                with contextlib.suppress(Gap):
                    for record in await reader.poll():
                        if not fence.admits(record) or record.value is None:
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
    return " · ".join(parts) or STARTING
