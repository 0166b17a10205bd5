"""``make crash``: every stage is killed at random moments, and nothing that was acknowledged may be lost.

On each engine, 20 times: ``kill -9`` of a stage at a random moment during a fault, and a restart; every stage is killed
at least once. At the end the ledger must balance: the bus holds what each run of ingest reported as published,
analytics and the recorder have processed every sample of the bus exactly once, no collection is missing between two
that arrived, and each incident was paged once.
"""

import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bus.open import open_bus
from fabricscope.settings import load_settings
from recordings.manifest import read_manifest
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from tests.acceptance.lab import Engine, Lab, engines_named, lab_folder
from tests.acceptance.pagers import Pagers

KILLS = 20
VICTIMS = ("ingest", "analytics", "alerts", "export", "recorder", "api")
SPEED = 1.0
PAUSE_S = (0.5, 9.0)  # wall time between a start and the next kill: some hit the start, most hit work
SETTLE_S = 60.0


@dataclass(frozen=True, slots=True)
class OnTheBus:
    """What the bus holds. holes: collections that are missing between two of the same run of a collector.

    by_epoch: samples by the start of the collector's run.
    """

    by_epoch: dict[int, int]
    duplicates: int
    collections: int
    holes: int

    @property
    def samples(self) -> int:
        return sum(self.by_epoch.values())

    def missing(self, published: dict[int, int]) -> int:
        """Samples that a run of ingest (by its start) reported as published, and that are not here."""
        starts = sorted(published)
        missing = 0
        for start, end in zip(starts, [*starts[1:], max(self.by_epoch) + 1], strict=True):
            here = sum(samples for epoch, samples in self.by_epoch.items() if start <= epoch < end)
            missing += max(0, published[start] - here)
        return missing


@dataclass(frozen=True, slots=True)
class Audit:
    """The result on one engine."""

    engine: str
    kills: dict[str, int]
    bus: OnTheBus
    missing: int
    processed: int
    recorded: int
    balance: int
    incidents: int
    pages_max: int
    alerts: int

    @property
    def lost(self) -> int:
        """Acknowledged samples that are not on the bus, or not processed exactly once by analytics or the recorder."""
        return self.missing + abs(self.bus.samples - self.processed) + abs(self.bus.samples - self.recorded)

    @property
    def passed(self) -> bool:
        complete = self.lost == 0 and self.balance == 0 and self.bus.holes == 0
        return complete and self.incidents >= 1 and self.pages_max == 1 and self.alerts == self.incidents


def run(engine: Engine, console: Console, seed: int = 1) -> Audit:
    """One run of the program with all kills, then the audit."""
    dice = random.Random(seed)
    kills: Counter[str] = Counter()
    with lab_folder(f"crash-{engine}") as folder, Pagers() as pagers:
        lab = Lab(folder, engine, speed=SPEED, interval_s=4.0, address_offset=3, pagers=pagers, everything=True)
        with lab:
            lab.inject("slow-receiver", 3600.0)
            published: dict[int, int] = {}
            for number in range(KILLS):
                victim = VICTIMS[number] if number < len(VICTIMS) else dice.choice(VICTIMS)
                _wait(lab, dice.uniform(*PAUSE_S), published)
                lab.stages[victim].kill()
                lab.stages[victim].start()
                kills[victim] += 1
                console.print(f"{engine}: kill {number + 1} of {KILLS}: {victim}")
            _wait(lab, PAUSE_S[1], published)
            lab.wait_for(lambda: bool(pagers.notified()), "the page", SETTLE_S)
            lab.stages["ingest"].stop()
            bus = asyncio.run(_read_bus(lab.settings_file))
            lab.wait_for(lambda: _processed(lab)[0] >= bus.samples, "analytics to process everything", SETTLE_S)
            processed, balance = _processed(lab)
            lab.stages["recorder"].stop()
            recorded = sum(part.samples for part in read_manifest(folder / "recording").slices)
            firing = {one["id"] for one in lab.incidents() if one["fired_ns"] and one["severity"] != "info"}
            shown = [alert["labels"]["incident_id"] for alert in lab.alertmanager.alerts()]
            pages = [one.pages for one in pagers.notified().values()]
    return Audit(
        engine=engine,
        kills=dict(kills),
        bus=bus,
        missing=bus.missing(published),
        processed=processed,
        recorded=recorded,
        balance=balance,
        incidents=len(firing),
        pages_max=max(pages, default=0),
        alerts=len(shown),
    )


def _wait(lab: Lab, seconds: float, published: dict[int, int]) -> None:
    """Waits, and keeps what ingest reports as published, by the start of its run."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for stage in lab.api("/api/v1/ledger") or ():
            if stage["stage"] == "ingest":
                published[stage["epoch_ns"]] = stage["samples_out"]
        time.sleep(0.2)


async def _read_bus(settings_file: Path) -> OnTheBus:
    """Every collection on the bus, counted once, and what is missing between them."""
    bus = open_bus(load_settings(settings_file).bus)
    await bus.start()
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    sizes: dict[tuple[str, int, int], int] = {}
    duplicates = 0
    while not await reader.at_end():
        for record in await reader.poll():
            assert record.value is not None
            batch = decoder.decode(record.value, record.headers)
            identity = (batch.table.target, batch.collection.epoch_ns, batch.collection.seq)
            duplicates += len(batch) if identity in sizes else 0
            sizes[identity] = len(batch)
    await reader.stop()
    await bus.stop()
    lives: dict[tuple[str, int], list[int]] = defaultdict(list)
    for target, epoch_ns, seq in sizes:
        lives[target, epoch_ns].append(seq)
    holes = sum(max(seqs) - min(seqs) + 1 - len(seqs) for seqs in lives.values())
    by_epoch: Counter[int] = Counter()
    for (_, epoch_ns, _), samples in sizes.items():
        by_epoch[epoch_ns] += samples
    return OnTheBus(dict(by_epoch), duplicates, len(sizes), holes)


def _processed(lab: Lab) -> tuple[int, int]:
    """Samples that analytics has processed once, and the balance of its ledger."""
    for stage in lab.api("/api/v1/ledger") or ():
        if stage["stage"] == "analytics":
            return stage["samples_in"] - stage["deduplicated"], stage["balance"]
    return -1, -1


def table(audits: list[Audit]) -> Table:
    drawn = Table(title=f"{KILLS} kills a bus: what was acknowledged, what was lost, who was paged")
    for heading in ("bus", "samples", "lost", "ledger", "holes", "incidents", "pages each", ""):
        drawn.add_column(heading, justify="right")
    for one in audits:
        numbers = (one.bus.samples, one.lost, one.balance, one.bus.holes, one.incidents, one.pages_max)
        drawn.add_row(one.engine, *map(str, numbers), "ok" if one.passed else "FAIL")
    return drawn


def main() -> None:
    console = Console()
    engines = engines_named(sys.argv[1:])
    audits = [run(engine, console) for engine in engines]
    for one in audits:
        console.print(f"{one.engine}: {', '.join(f'{name} {n}' for name, n in sorted(one.kills.items()))} kills")
    console.print(table(audits))
    sys.exit(not all(one.passed for one in audits))


if __name__ == "__main__":
    main()
