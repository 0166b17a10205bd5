"""One target once: what each of its series becomes, and which of them nobody reads."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from common.errors import ConfigError
from common.printing import escape_controls, printable
from fabricscope.clock import event_clock
from fabricscope.settings import load_settings
from ingest.collectors.base import ClusterEvent, SourceSeries
from ingest.config import IngestConfig
from ingest.one_target import TargetReading, read_target
from telemetry.catalogue import metrics, source, source_names
from telemetry.changes import Change
from telemetry.series import parse_series_key

_WIDTH = 200  # of a pipe or a file, which wrap nothing
_JOB = "test"


def test_and_print(config_file: Path | None, target: str, system: str | None, lasts_s: float, *, as_json: bool) -> bool:
    """Whether the target answers.

    target: of the settings; with ``system``, any address, host:port or a URL. lasts_s: the longest that it is waited
    for. ConfigError for a target that is not there or cannot be asked.
    """
    settings = load_settings(config_file)
    config, wanted = (settings.ingest, target) if system is None else (_config_of(target, system, lasts_s), _JOB)
    clock = event_clock(settings.general.simulated_time)
    reading = asyncio.run(read_target(config, clock, lasts_s, wanted))
    if as_json:
        document = orjson.dumps(_document(reading)).decode()
        sys.stdout.buffer.write(escape_controls(document).encode() + b"\n")
    else:
        _print(reading)
    return not reading.problem


def _config_of(address: str, system: str, lasts_s: float) -> IngestConfig:
    """A job of this one target."""
    if system not in source_names():
        near = get_close_matches(system, source_names(), 1)
        hint = f", did you mean {near[0]}?" if near else f" of {', '.join(source_names())}"
        raise ConfigError(f"--system: {system} is no system of the catalogue{hint}")
    if "exposition" not in source(system).formats:
        raise ConfigError(
            f"--system: {system} has no page to scrape ({', '.join(source(system).formats)}): its address, credentials "
            "and TLS belong in the settings, and --test names a target of these"
        )
    url = urlsplit(address if "://" in address else f"http://{address}")
    job = {
        "job_name": _JOB,
        "source": system,
        "scheme": url.scheme,
        "metrics_path": url.path or "/metrics",
        "params": parse_qs(url.query),
        "scrape_interval": lasts_s,
        "static_configs": [{"targets": [url.netloc]}],
    }
    try:
        return IngestConfig.model_validate({"scrape_configs": [job]})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"--test: expected host:port or a URL: {first['msg']}") from None


def _document(reading: TargetReading) -> dict[str, Any]:
    mapped, others = _parted(reading)
    return {
        "target": reading.target,
        "device": reading.device,
        "up": not reading.problem,
        "problem": reading.problem,
        "duration_s": reading.duration_s,
        "series": {"mapped": len(mapped), "unmapped": reading.unmapped, "left_out": reading.left_out},
        "samples": len(reading.values),
        "dropped": dict(reading.dropped),
        "mapped": [row for each in mapped for row in _rows(reading, each)],
        "unmapped": [{"name": each.name, "reason": each.reason} for each in others if not each.left_out],
        "left_out": [{"name": each.name, "reason": each.reason} for each in others if each.left_out],
        "events": [_event(each) for each in reading.events],
    }


def _parted(reading: TargetReading) -> tuple[list[SourceSeries], list[SourceSeries]]:
    """Series that are mapped, and all others."""
    mapped = [each for each in reading.series if each.canonical]
    return mapped, [each for each in reading.series if not each.canonical]


def _rows(reading: TargetReading, series: SourceSeries) -> Iterator[dict[str, Any]]:
    """One for each canonical series that it feeds. value: None where it is no sample."""
    for key in series.canonical:
        name, labels = parse_series_key(key)
        metric = metrics().get(name)
        unit = metric.unit if metric is not None else ""
        yield {"name": series.name, "metric": name, "labels": labels, "value": reading.values.get(key), "unit": unit}


def _event(event: ClusterEvent) -> str:
    if isinstance(event, Change):
        return f"{event.kind} {event.id}: {event.summary}"
    return f"{event.entity.kind} {event.entity.key}" + (" is gone" if event.gone else "")


def _print(reading: TargetReading) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    mapped, others = _parted(reading)
    answers = f"no: {reading.problem}" if reading.problem else "yes"
    took = f", in {reading.duration_s:.3f} s" if reading.duration_s is not None else ""
    console.print(_text(f"{reading.target} ({reading.device or 'no device'}) answers: {answers}{took}"), soft_wrap=True)
    if reading.problem:
        return
    if mapped:
        console.print(_mapped_table(reading, mapped))
    if others:
        console.print(_others_table(others))
    for each in reading.events:
        console.print(_text(f"fact or change: {_event(each)}"), soft_wrap=True)
    console.print(_text(_summary(reading, len(mapped))), soft_wrap=True)


def _mapped_table(reading: TargetReading, mapped: list[SourceSeries]) -> Table:
    table = _table("source's series", "metric", "labels", "value", "unit")
    for each in mapped:
        for row in _rows(reading, each):
            labels = ",".join(f"{name}={value}" for name, value in row["labels"].items())
            value = "no sample" if row["value"] is None else f"{row['value']:.12g}"
            table.add_row(*map(_text, (row["name"], row["metric"], labels, value, row["unit"])))
    return table


def _others_table(others: list[SourceSeries]) -> Table:
    """By name, as a page may have thousands of series of one: what nothing maps first."""
    table = _table("not read", "series", "why")
    counted = Counter((each.left_out, each.name.partition("{")[0], each.reason) for each in others)
    for (_, name, reason), count in sorted(counted.items()):
        table.add_row(*map(_text, (name, str(count), reason)))
    return table


def _summary(reading: TargetReading, mapped: int) -> str:
    """How much of what it has is read."""
    if not reading.series:
        return f"{len(reading.events)} facts and changes"
    whole = mapped + reading.unmapped + reading.left_out
    drops = ", ".join(f"{reason} {count}" for reason, count in sorted(reading.dropped.items()))
    return (
        f"{mapped} of {whole} series are read ({mapped / whole:.0%}), {reading.left_out} are left out on purpose, "
        f"nothing maps {reading.unmapped}; {len(reading.values)} samples, dropped: {drops or 'none'}"
    )


def _table(*headings: str) -> Table:
    table = Table(pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _text(cell: str) -> Text:
    return Text(printable(cell))
