"""``make bench``: benchmarks, one table, and ``build/bench.json``. Exit status 0 also when a target is missed.

``python -m benchmarks [NAME ...]`` runs only these; ``python -m benchmarks.NAME`` prints the rows of one as JSON.
"""

import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.rows import Row

NAMES = (
    "exposition",
    "gnmi",
    "gnmi_dialout",
    "cisco_mdt",
    "cisco_mdt_peers",
    "otlp",
    "otlp_receivers",
    "otlp_peers",
    "kafka_topics",
    "kafka_topics_peers",
    "analytics",
    "correlation",
    "scoring",
    "snapshot",
    "models",
    "remote_write",
    "remote_write_peers",
    "simulator",
    "health",
    "end_to_end",
)
OUT = Path(__file__).parents[1] / "build" / "bench.json"
KEYS = ("name", "value", "unit", "reference", "ratio")


@dataclass(frozen=True, slots=True)
class Target:
    """The promise about rows whose name matches ``names`` as a whole."""

    names: str
    text: str
    met: Callable[[Row], bool]


def _fast_scoring(row: Row, ratio: float) -> bool:
    return bool(row["value"] >= 3_000_000 and row["ratio"] >= ratio)


TARGETS = (
    Target(r"exposition \w+ page, known layout", "≥ 100×", lambda row: row["ratio"] >= 100),
    Target(r"gnmi_decode_\d+_updates_a_message", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"gnmi_dialout_\d+_updates_a_message", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"cisco_mdt_decode_\w+", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"otlp_decode_\d+_points_a_request", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"kafka_topics_\w+", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"(cisco_mdt|otlp|remote_write)_\w+_beside_telegraf", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"scoring: .* River HalfSpaceTrees.*", "≥ 3,000,000, 100×", lambda row: _fast_scoring(row, 100)),
    Target(r"scoring: 100,000 series, all .* Python", "≥ 3,000,000, 50×", lambda row: _fast_scoring(row, 50)),
    Target(r"scoring: (one long|fabricscope detect, one) series.*", "≥ 200,000", lambda row: row["value"] >= 200_000),
    Target(r"scoring: start of .*", "≤ 1", lambda row: row["value"] <= 1),
    Target(r"scoring: state of a series", "≤ 2,048", lambda row: row["value"] <= 2048),
    Target(r"scoring: (snapshot|restore) of .*", "≤ 10", lambda row: row["value"] <= 10),
    Target(r"correlation: 1,000 .*", "≤ 50 ms", lambda row: row["value"] <= 50),
    Target(r"remote_write_receive_.*", "≥ 5×", lambda row: row["ratio"] >= 5),
    Target(r"simulator: 512 GPUs, .*", "≥ 1×", lambda row: row["ratio"] >= 1),
    Target(r"end to end.*: record on the bus", "≤ 8", lambda row: row["value"] <= 8),
    Target(r"end to end.* together", "≥ 500,000", lambda row: row["value"] >= 500_000),
)


def main(names: Sequence[str]) -> None:
    progress = Console(stderr=True)
    rows: list[Row] = []
    for name in selected(names):
        began_s = time.monotonic()
        progress.print(f"{name} …")
        rows += [{key: row.get(key) for key in KEYS} for row in importlib.import_module(f"benchmarks.{name}").run()]
        progress.print(f"{name}: {time.monotonic() - began_s:.0f} s")
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text(json.dumps([machine(), *rows], indent=1) + "\n")
    Console(width=None if sys.stdout.isatty() else 150).print(table(rows))
    progress.print(f"written: {OUT}")


def selected(names: Sequence[str]) -> Sequence[str]:
    """All benchmarks, or those that are named; SystemExit for an unknown name."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(unknown)}, expected {', '.join(NAMES)}")
    return names or NAMES


def table(rows: list[Row]) -> Table:
    drawn = Table(title="Cost (CPU seconds are user and system, all threads)")
    for heading in KEYS:
        drawn.add_column(heading, justify="left" if heading in ("name", "unit") else "right")
    drawn.add_column("target")
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:,.1f}×"
        cells = (row["name"], _number(row["value"]), row["unit"], _number(row["reference"]), ratio)
        drawn.add_row(*cells, verdict(row))
    return drawn


def verdict(row: Row) -> str:
    """The target of a row and whether it is met; empty without a target."""
    for target in TARGETS:
        if re.fullmatch(target.names, row["name"]):
            return f"{target.text}: {'met' if target.met(row) else 'MISSED'}"
    return ""


def _number(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


if __name__ == "__main__":
    main(sys.argv[1:])
