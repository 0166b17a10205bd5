"""``make accept``: six faults, each once on the embedded bus and once on Kafka, and 30 minutes without faults.

Simulator → collectors over real gNMI and HTTP → bus → analytics → a real Alertmanager. Each fault must give exactly one
incident with the right root, in Alertmanager within three collection intervals of its onset; health must give none.
A storage target that is slow costs nothing, and pages nobody, before a job meets it: its intervals count from the next
checkpoint that is due. All times are simulated time.
"""

import sys
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from common.units import NS_PER_S
from tests.acceptance.lab import Engine, Lab, engines_named, lab_folder
from tests.acceptance.pagers import Pagers

STORAGE = "slow-storage-target"
FAULTS = ("slow-receiver", "incast", "link-down", "spine-down", "straggler-gpu", STORAGE)
WARM_UP_S = 300.0  # two checkpoints before the first fault
FAULT_S = 90.0
RECOVERY_S = 300.0  # until the incident is resolved and the cluster has recovered
HEALTHY_S = 1800.0
INTERVALS_MAX = 3
OFFSETS = {"embedded": 1, "kafka": 5}  # of the simulators' addresses: both engines can run at once


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one fault, or of the healthy period (``fault`` is ``none``).

    delay_s: onset until Alertmanager showed it. unmet_s: of it, how long no job had met the fault.
    pages, updates: as receivers count them, see ``Pagers``.
    """

    engine: str
    fault: str
    expected_root: str
    named_root: str
    delay_s: float
    unmet_s: float
    incidents: int
    pages: int
    updates: int
    passed: bool


def run(engine: Engine, console: Console) -> list[Verdict]:
    """All faults one after the other in one run of the program, then the healthy period in another."""
    verdicts = []
    offset = OFFSETS[engine]
    with lab_folder(f"accept-{engine}") as folder:
        with Pagers() as pagers, Lab(folder / "faults", engine, address_offset=offset, pagers=pagers) as lab:
            lab.wait_for(lab.keeps_up, "analytics to keep up")
            _wait(lab, WARM_UP_S)
            for fault in FAULTS:
                verdicts.append(_judge_fault(lab, pagers, fault))
                console.print(_line(verdicts[-1]))
        with (
            Pagers() as pagers,
            Lab(folder / "healthy", engine, seed=2, address_offset=offset + 1, pagers=pagers) as lab,
        ):
            verdicts.append(_judge_healthy(lab, pagers))
            console.print(_line(verdicts[-1]))
    return verdicts


def _judge_fault(lab: Lab, pagers: Pagers, fault: str) -> Verdict:
    if fault == STORAGE:
        lab.wait_for(lambda: lab.checkpoint_due_ns() < lab.now_ns() + FAULT_S / 2 * NS_PER_S, "a checkpoint to be due")
    before = set(_fired(lab))
    truth = lab.inject(fault, FAULT_S)
    onset_ns, root = int(truth["start_ns"]), str(truth["root"])
    unmet_s = max(0.0, (lab.checkpoint_due_ns() - onset_ns) / NS_PER_S) if fault == STORAGE else 0.0
    deadline_ns = onset_ns + int(FAULT_S * NS_PER_S)
    shown_ns, labels = 0, {}
    while not shown_ns and lab.now_ns() < deadline_ns:
        fresh = [alert for alert in lab.alertmanager.alerts() if alert["labels"]["incident_id"] not in before]
        if fresh:
            shown_ns, labels = lab.now_ns(), fresh[0]["labels"]
    _wait(lab, (deadline_ns - lab.now_ns()) / NS_PER_S + RECOVERY_S)
    after = set(_fired(lab)) - before
    notified = [one for identity, one in pagers.notified().items() if identity in after]
    pages, updates = sum(one.pages for one in notified), sum(one.updates for one in notified)
    named = str(labels.get("object", "nothing"))
    delay_s = (shown_ns - onset_ns) / NS_PER_S if shown_ns else float("inf")
    in_time = delay_s - unmet_s <= INTERVALS_MAX * lab.interval_s
    passed = len(after) == 1 and pages == 1 and named == root and in_time
    return Verdict(
        engine=lab.engine,
        fault=fault,
        expected_root=root,
        named_root=named,
        delay_s=delay_s,
        unmet_s=unmet_s,
        incidents=len(after),
        pages=pages,
        updates=updates,
        passed=passed,
    )


def _judge_healthy(lab: Lab, pagers: Pagers) -> Verdict:
    """Nothing may fire while jobs start, write checkpoints and end, and every target answers."""
    began_ns, judged = lab.now_ns(), lab.ledger("analytics").get("samples_out", 0)
    _wait(lab, HEALTHY_S)
    judged = lab.ledger("analytics")["samples_out"] - judged
    expected = sum(status["series"] for status in lab.api("/api/v1/targets")) * HEALTHY_S / lab.interval_s
    happened = {change["kind"] for change in lab.changes() if change["starts_ns"] > began_ns}
    alive = judged > expected / 2 and {"job_start", "job_end"} <= happened
    found = _fired(lab)
    roots = ", ".join(sorted(f"{one['root']['kind']}:{one['root']['name']}" for one in found.values()))
    named = roots or ("nothing" if alive else f"nothing happened: {judged:,} samples processed, {sorted(happened)}")
    pages = len(pagers.notified())
    return Verdict(
        engine=lab.engine,
        fault="none",
        expected_root="nothing",
        named_root=named,
        delay_s=0.0,
        unmet_s=0.0,
        incidents=len(found),
        pages=pages,
        updates=0,
        passed=alive and not found and not pages,
    )


def _fired(lab: Lab) -> dict[str, dict[str, Any]]:
    """Incidents that fired at some time, by id."""
    return {one["id"]: one for one in lab.incidents() if one["fired"]}


def _wait(lab: Lab, simulated_s: float) -> None:
    until_ns = lab.now_ns() + int(simulated_s * NS_PER_S)
    lab.wait_for(lambda: lab.now_ns() >= until_ns, "simulated time to pass", within_s=simulated_s / lab.speed * 3 + 30)


def _line(verdict: Verdict) -> str:
    status = "ok  " if verdict.passed else "FAIL"
    return f"{status} {verdict.engine:8} {verdict.fault:20} root {verdict.named_root} after {_delay(verdict)}"


def _delay(verdict: Verdict) -> str:
    unmet = f", {verdict.delay_s - verdict.unmet_s:.0f} s after a job met it" if verdict.unmet_s else ""
    return f"{verdict.delay_s:.0f} s{unmet}"


def table(verdicts: list[Verdict]) -> Table:
    """The table of the whole campaign."""
    drawn = Table(title="Fault, root named, delay, incidents, pages (simulated time)")
    for heading in ("bus", "fault", "expected root", "root named", "delay", "incidents", "pages", "updates", ""):
        drawn.add_column(heading, overflow="fold")
    for one in verdicts:
        delay = _delay(one) if one.fault != "none" else "30 min"
        status = "ok" if one.passed else "FAIL"
        cells = (
            one.engine,
            one.fault,
            one.expected_root,
            one.named_root,
            delay,
            str(one.incidents),
            str(one.pages),
            str(one.updates),
            status,
        )
        drawn.add_row(*cells, style=None if one.passed else "red")
    return drawn


def main() -> None:
    console = Console(width=None if sys.stdout.isatty() else 180)
    engines = engines_named(sys.argv[1:])
    verdicts = [verdict for engine in engines for verdict in run(engine, console)]
    console.print(table(verdicts))
    sys.exit(not all(verdict.passed for verdict in verdicts))


if __name__ == "__main__":
    main()
