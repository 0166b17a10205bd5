"""``make crash``: every stage is killed at random moments, and nothing that was acknowledged may be lost.

On each engine, 20 times: ``kill -9`` of a stage at a random moment while a fault is on, and a new start; every stage is
among them. At the end the books must balance: the bus holds what each life of ingest said it had published, analytics
and the recorder have taken every sample of the bus exactly once, no collection is missing between two that arrived, and
each incident was paged once.
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
    """What the bus holds. holes: collections that are missing between two of the same collector's life.

    by_epoch: samples by the start of the collector's life.
    """

    by_epoch: dict[int, int]
    duplicates: int
    collections: int
    holes: int

    @property
    def samples(self) -> int:
        return sum(self.by_epoch.values())

    def missing(self, published: dict[int, int]) -> int:
        """Samples that a life of ingest (by its start) said it had published, and that are not here."""
        starts = sorted(published)
        missing = 0
        for start, end in zip(starts, [*starts[1:], max(self.by_epoch) + 1], strict=True):
            here = sum(samples for epoch, samples in self.by_epoch.items() if start <= epoch < end)
            missing += max(0, published[start] - here)
        return missing


@dataclass(frozen=True, slots=True)
class Books:
    """The whole balance of one engine's run."""

    engine: str
    kills: dict[str, int]
    bus: OnTheBus
    missing: int
    taken: int
    recorded: int
    balance: int
    incidents: int
    pages_most: int
    alerts: int

    @property
    def lost(self) -> int:
        """Acknowledged samples that are not on the bus, or that analytics or the recorder did not take exactly once."""
        return self.missing + abs(self.bus.samples - self.taken) + abs(self.bus.samples - self.recorded)

    @property
    def passed(self) -> bool:
        whole = self.lost == 0 and self.balance == 0 and self.bus.holes == 0
        return whole and self.incidents >= 1 and self.pages_most == 1 and self.alerts == self.incidents


def run(engine: Engine, console: Console, seed: int = 1) -> Books:
    """One life with all kills, then the audit."""
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
            lab.wait_for(lambda: bool(pagers.told()), "the page", SETTLE_S)
            lab.stages["ingest"].stop()
            bus = asyncio.run(_read_bus(lab.settings_file))
            lab.wait_for(lambda: _taken(lab)[0] >= bus.samples, "analytics to take everything", SETTLE_S)
            taken, balance = _taken(lab)
            lab.stages["recorder"].stop()
            recorded = sum(part.samples for part in read_manifest(folder / "recording").slices)
            firing = {one["id"] for one in lab.incidents() if one["fired_ns"] and one["severity"] != "info"}
            shown = [alert["labels"]["incident_id"] for alert in lab.alertmanager.alerts()]
            pages = [one.pages for one in pagers.told().values()]
    return Books(
        engine,
        dict(kills),
        bus,
        bus.missing(published),
        taken,
        recorded,
        balance,
        len(firing),
        max(pages, default=0),
        len(shown),
    )


def _wait(lab: Lab, seconds: float, published: dict[int, int]) -> None:
    """Lets time pass, and writes down what ingest says it has published, by the start of its life."""
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


def _taken(lab: Lab) -> tuple[int, int]:
    """Samples that analytics has taken once, and the balance of its ledger."""
    for stage in lab.api("/api/v1/ledger") or ():
        if stage["stage"] == "analytics":
            return stage["samples_in"] - stage["deduplicated"], stage["balance"]
    return -1, -1


def table(books: list[Books]) -> Table:
    drawn = Table(title=f"{KILLS} kills a bus: what was acknowledged, what was lost, who was paged")
    for heading in ("bus", "samples", "lost", "ledger", "holes", "incidents", "pages each", ""):
        drawn.add_column(heading, justify="right")
    for one in books:
        numbers = (one.bus.samples, one.lost, one.balance, one.bus.holes, one.incidents, one.pages_most)
        drawn.add_row(one.engine, *map(str, numbers), "ok" if one.passed else "FAIL")
    return drawn


def main() -> None:
    console = Console()
    engines = engines_named(sys.argv[1:])
    books = [run(engine, console) for engine in engines]
    for one in books:
        console.print(f"{one.engine}: {', '.join(f'{name} {n}' for name, n in sorted(one.kills.items()))} kills")
    console.print(table(books))
    sys.exit(not all(one.passed for one in books))


if __name__ == "__main__":
    main()
