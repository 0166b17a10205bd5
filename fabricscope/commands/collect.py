"""Each configured target once, and a table of what it answers."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from common.errors import ConfigError
from common.printing import escape_controls, printable
from fabricscope.clock import event_clock
from fabricscope.commands.progress import progress
from fabricscope.settings import load_settings
from ingest.once import Outcome, collect_once
from telemetry.samples import SampleBatch

_NAMES_SHOWN = 3
_WIDTH = 160  # of a pipe or a file, which wrap nothing


def collect_and_print(
    config_file: Path | None, lasts_s: float, samples: int, targets: Sequence[str], *, as_json: bool
) -> bool:
    """Whether there are targets and all of them answer.

    lasts_s: the longest that a target is waited for. targets: ``job/address`` or either part; empty: all.
    ConfigError where there are none.
    """
    settings = load_settings(config_file)
    clock = event_clock(settings.general.simulated_time)
    with progress(shown=not as_json) as (_, show):
        work = collect_once(settings.ingest, clock, lasts_s, _wanted(targets), lambda ended, of: show(ended / of))
        found = asyncio.run(work)
    if not found:
        raise ConfigError(
            f"no target is called {', '.join(targets)}; without --target all are listed"
            if targets
            else "no target is configured: expected scrape_configs, gnmi_configs, or another source in the settings"
        )
    if as_json:
        document = orjson.dumps([_document(each, samples) for each in found]).decode()
        sys.stdout.buffer.write(escape_controls(document).encode() + b"\n")
    else:
        Console(width=None if sys.stdout.isatty() else _WIDTH).print(_table(found, samples))
    return not any(each.problem for each in found)


def _wanted(targets: Sequence[str]) -> Callable[[str], bool]:
    """By the whole name, ``job/address``, or by either part of it."""
    chosen = set(targets)
    return lambda name: not chosen or not chosen.isdisjoint((name, *name.split("/", 1)))


def _document(outcome: Outcome, samples: int) -> dict[str, Any]:
    batch = outcome.batch
    return {
        "target": outcome.target,
        "device": batch.table.device if batch is not None else "",
        "up": not outcome.problem,
        "problem": outcome.problem,
        "duration_s": batch.collection.duration_s if batch is not None else None,
        "samples": len(batch) if batch is not None else 0,
        "events": outcome.events,
        "examples": dict(_examples(outcome, samples)),
        "unmapped": list(outcome.unmapped),
        "unmapped_series": batch.collection.unmapped if batch is not None else 0,
        "left_out_series": batch.collection.left_out if batch is not None else 0,
    }


def _table(found: Sequence[Outcome], samples: int) -> Table:
    answer = sum(not each.problem for each in found)
    drawn = Table(title=f"{answer} of {len(found)} targets answer", caption=_caption(found))
    for heading in ("target", "device", "up", "samples", "duration", "not mapped", "examples"):
        drawn.add_column(heading, overflow="fold")
    for each in found:
        batch = each.batch
        device = duration = ""
        if batch is not None:
            device, duration = batch.table.device, f"{batch.collection.duration_s:.3f} s"
        up = f"no: {each.problem}" if each.problem else "yes"
        sent = str(len(batch)) if batch is not None else f"{each.events} facts"
        examples = [_text(f"{key} {value:g}") for key, value in _examples(each, samples)]
        cells = (each.target, device, up, sent, duration, _others(batch))
        drawn.add_row(*map(_text, cells), Text("\n").join(examples))
    return drawn


def _others(batch: SampleBatch | None) -> str:
    """How many series are no samples."""
    if batch is None:
        return ""
    unmapped, left_out = batch.collection.unmapped, batch.collection.left_out
    cells = [f"{unmapped} series" if unmapped else "", f"{left_out} left out" if left_out else ""]
    return ", ".join(filter(None, cells))


def _text(cell: str) -> Text:
    return Text(printable(cell))


def _caption(found: Sequence[Outcome]) -> str | None:
    """What the catalogue does not know of all pages together; of other series it says why it leaves them out."""
    names = sorted({name for each in found for name in each.unmapped})
    if not names:
        left_out = any(each.batch is not None and each.batch.collection.left_out for each in found)
        return "what is left out is so on purpose: docs/sources.md says why" if left_out else None
    such = printable(", ".join(names[:_NAMES_SHOWN]))
    return f"{len(names)} names are not mapped, such as {such}: `--output json` lists them"


def _examples(outcome: Outcome, samples: int) -> list[tuple[str, float]]:
    batch = outcome.batch
    if batch is None:
        return []
    rows = zip(batch.series[:samples].tolist(), batch.values[:samples].tolist(), strict=True)
    return [(batch.table.keys[row], value) for row, value in rows]
