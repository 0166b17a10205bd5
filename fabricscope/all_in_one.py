"""All stages of one machine as child processes, and their incidents on the terminal."""

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

import orjson
from rich.console import Console

from bus.base import Bus, Gap
from bus.open import open_bus, require_place
from bus.owner.fence import OwnerFence
from common.errors import ConfigError
from common.tasks import cancel
from fabricscope.api.config import ApiConfig
from fabricscope.running.children import StageChildren
from fabricscope.running.stopping import stop_on_signals
from fabricscope.running.supervisor import Child
from fabricscope.terminal import incident_panel
from fabricscope.timeline import STARTING, Timeline, state_line
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.ledger import StageReport

LOOK_AGAIN_S, ANSWER_S = 0.2, 2.0


async def run_all_in_one(
    config_file: Path, running: Sequence[Child] = (), timeline: Timeline | None = None, truth_file: Path | None = None
) -> None:
    """Until Ctrl-C or SIGTERM. running: children that were started before, to stop with the stages.

    timeline: of what was done before. truth_file: where a simulator writes what it breaks.
    ConfigError with the words of a stage that cannot start, and where the bus can have no file.
    """
    stages = StageChildren(config_file)
    settings = stages.settings
    timeline = timeline or Timeline(Console())
    console = timeline.console
    stopping = stop_on_signals()
    bus = open_bus(settings.bus)
    try:
        require_place(settings.bus)
        await stages.start()
        reloading = asyncio.create_task(reload_on_signals(stages))
        await bus.start()
        timeline.step(STARTING)
        shown = [announce(settings.api, console), print_incidents(bus, timeline)]
        shown += [] if truth_file is None else [follow_faults(truth_file, timeline)]
        showing = [asyncio.create_task(one) for one in shown]
        waiting = asyncio.create_task(stopping.wait())
        refused = asyncio.create_task(stages.refusal())
        await asyncio.wait([waiting, refused], return_when=asyncio.FIRST_COMPLETED)
        problem = refused.result() if refused.done() else None
        await cancel([*showing, reloading, waiting, refused])
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


async def print_incidents(bus: Bus, timeline: Timeline) -> None:
    """Prints each incident when it fires and when it is resolved, and a line when its severity is another one.

    Below, one line from the stages' reports.
    """
    reader = bus.consume([topics.INCIDENTS, topics.LEDGER], {})
    shown: dict[tuple[str, IncidentState], Severity] = {}
    reports: dict[str, StageReport] = {}
    fence = OwnerFence()
    timeline.wait_for(state_line(reports))
    try:
        with timeline.console.status(timeline):
            while True:
                timeline.bus_is(bus.problem())
                with contextlib.suppress(Gap):
                    for record in await reader.poll():
                        if not fence.admits(record) or record.value is None:
                            continue
                        if record.topic == topics.LEDGER.name:
                            report = decode_record(record.value, StageReport)
                            reports[report.stage] = report
                            timeline.reported(reports)
                            continue
                        incident = decode_record(record.value, Incident)
                        if incident.state is not IncidentState.PENDING:
                            _show(incident, shown.get((incident.id, incident.state)), timeline)
                            shown[incident.id, incident.state] = incident.severity
    finally:
        await reader.stop()


def _show(incident: Incident, before: Severity | None, timeline: Timeline) -> None:
    """before: the severity with which it was shown in this state."""
    if before is not None:
        if before is not incident.severity:
            timeline.step(f"{before.value} before, now {incident.title}")
        return
    if incident.state is IncidentState.FIRING:
        timeline.fired(incident.kind, incident.title)
    timeline.console.print(incident_panel(incident))


async def follow_faults(truth_file: Path, timeline: Timeline) -> None:
    """A step for each fault that the simulator adds to its file, for ever."""
    known = 0
    while True:
        lines = truth_file.read_bytes().splitlines() if truth_file.exists() else []  # noqa: ASYNC240  # some hundred bytes
        for line in lines[known:]:
            fault = orjson.loads(line)
            timeline.injected(fault["fault"], fault["root"], [fault["expected"], *fault.get("accepted", ())])
        known = len(lines)
        await asyncio.sleep(LOOK_AGAIN_S)
