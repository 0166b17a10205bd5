"""``python -m evaluation pictures``: the pictures of docs/simulator/day.md, and the numbers that they show."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evaluation import report
from evaluation.pictures.day import Day, Floats, simulate
from evaluation.pictures.fabric import draw_marks, draw_pauses, draw_queues, from_frames, from_transitions
from evaluation.pictures.gpus import draw_gpus, draw_recording
from evaluation.pictures.published import CLOCK_SPREAD, CONTEXT_WATTS, EXECUTION_IDLE, PAUSE_FRAMES, Published
from evaluation.pictures.storage import draw_storage
from simulator.compute.gpus import IDLE_HERTZ

Row = dict[str, Any]
HEADINGS = ("what", "unit", "median", "99th percentile", "largest", "published", "source")
GPUS_OF_A_HOST = 8
WAITING_WATTS = 160.0  # between a context without kernels, 122 W, and any kernel of the recording, 310 W and more


def draw(folder: Path, hours: float = 24.0) -> list[Row]:
    """Writes all pictures; the rows of ``results-pictures.md``."""
    day = simulate(hours)
    draw_pauses(day, folder / "day-pauses.svg")
    draw_marks(day, folder / "day-marks.svg")
    draw_queues(day, folder / "day-queues.svg")
    draw_gpus(day, folder / "day-gpus.svg")
    draw_storage(day, folder / "day-storage.svg")
    draw_recording(folder / "h100.svg")
    return list(rows(day))


def rows(day: Day) -> Iterator[Row]:
    """What the pictures show, over all ports or GPUs and minutes or readings of the day."""
    hosts = day.tiers["hosts"]
    for name, ports in day.tiers.items():
        yield _row(f"pause received, {name}", "% of the time", 100 * ports.pause_share)
    yield _row("pause received, hosts, from frames", "% of the time", 100 * from_frames(hosts))
    yield _row("pause received, hosts, from transitions", "% of the time", 100 * from_transitions(hosts))
    yield _row("pause frames received, hosts", "a second", hosts.frames, PAUSE_FRAMES)
    yield _row("pause frames received, uplinks", "a second", day.tiers["uplinks"].frames)
    for name, ports in day.tiers.items():
        yield _row(f"packets marked, {name}", "%", 100 * ports.marked)
    yield _row("packets with marks, hosts, with those on arrival", "%", 100 * hosts.arrived)
    yield _row("queue, hosts, watermark of 60 s", "MB", hosts.peak / 1e6)
    yield _row("queue, hosts, sample of 10 s", "MB", hosts.sampled / 1e6)
    held = np.where(day.held, day.hertz, np.nan)
    yield _row("SM clock while the power limit holds it", "MHz", held / 1e6)
    of_each = (gpu[~np.isnan(gpu)] for gpu in held.T)
    clocks = np.array([np.median(gpu) if gpu.size else np.nan for gpu in of_each]).reshape(-1, GPUS_OF_A_HOST)
    slower = 1.0 - clocks / clocks.max(axis=1, keepdims=True)
    yield _row("its median by GPU, below that of the fastest GPU of the host", "%", 100 * slower, CLOCK_SPREAD)
    yield _row("power", "W", day.watts)
    running = day.hertz > IDLE_HERTZ
    waiting = day.watts[running] < WAITING_WATTS
    yield _row("power of a process without kernels", "W", day.watts[running][waiting], CONTEXT_WATTS)
    yield _row(
        "readings of processes without kernels", "% of those with a process", 100 * waiting.mean(), EXECUTION_IDLE
    )
    for kind, mine in (("flash", ~day.disks), ("disks", day.disks)):
        yield _row(f"time of a read, {kind}", "ms", 1e3 * day.read_s[:, mine])
        yield _row(f"time of a write, {kind}", "ms", 1e3 * day.write_s[:, mine])


def _row(what: str, unit: str, values: Floats, published: Published | None = None) -> Row:
    found = np.ravel(values)
    found = found[~np.isnan(found)]
    row: Row = {"what": what, "unit": unit}
    if found.size == 1:
        row["median"] = float(found[0])
    elif found.size:
        row |= zip(HEADINGS[2:5], map(float, np.quantile(found, (0.5, 0.99, 1.0))), strict=True)
    return row | ({"published": published.words, "source": published.source} if published else {})


def page(found: list[Row]) -> str:
    """docs/evaluation/results-pictures.md."""
    cells = [[_text(row.get(heading, "")) for heading in HEADINGS] for row in found]
    about = (
        "Written by `python -m evaluation pictures`: one day of 8 hosts without a fault, with the unkind conditions. "
        "What it means: [how a day looks](../simulator/day.md)."
    )
    each = "Over all ports and minutes, GPUs and readings, or targets and minutes; queues and GPUs are read every 10 s."
    return report.page("Results: a day without a fault", about, each, report.table(HEADINGS, cells))


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
