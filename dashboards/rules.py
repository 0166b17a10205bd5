"""Prometheus' rules: alerts about Fabricscope itself, and what the wall shows as series that are cheap to keep.

``python -m dashboards.rules FOLDER`` writes them, a file for each.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dashboards.alert_rules import ALERTS, Alert
from telemetry.limits import LINK_SPEED_SHARE_MIN

INTERVAL = "30s"
_TARGETS = 'target!=""'
_UP_WITHIN_A_DAY = "fabric_port_up and on (cluster, device, port) max_over_time(fabric_port_up[1d]) == 1"
_GENERATED = "# Written by `make boards` from dashboards/{}.py.\n"
_ABOUT_ALERTS = (
    "# Who watches the watcher: alerts on Fabricscope itself, from its own metrics. They go to an Alertmanager of\n"
    "# yours, on a path that neither our bus nor our alerts stage is part of. See docs/alerts.md.\n"
)
_ABOUT_RECORDS = (
    "# What the wall shows, as a series for each cluster, rack or job: to be kept for longer than all samples are. No\n"
    "# board needs them. See docs/boards.md.\n"
)


@dataclass(frozen=True, slots=True)
class Record:
    """A series that Prometheus computes: ``level:metric:operation``."""

    record: str
    expr: str


RECORDS = (
    Record("cluster:up:avg", f"avg by (cluster) (up{{{_TARGETS}}})"),
    Record("cluster:fabric_port_up:avg", f"avg by (cluster) ({_UP_WITHIN_A_DAY})"),
    Record(
        "cluster:fabric_port_below_speed:count",
        "count by (cluster) (fabric_port_speed_bits_per_second < "
        f"{LINK_SPEED_SHARE_MIN:g} * max_over_time(fabric_port_speed_bits_per_second[1d]))",
    ),
    Record(
        "cluster:fabric_port_pfc_pause_ratio:max",
        'max by (cluster) (rate(fabric_port_pfc_pause_seconds_total{direction="rx"}[2m]))',
    ),
    Record(
        "device:fabric_port_pfc_pause_ratio:max",
        'max by (cluster, device) (rate(fabric_port_pfc_pause_seconds_total{direction="rx"}[2m]))',
    ),
    Record(
        "cluster:fabric_queue_dropped_packets:rate2m",
        "sum by (cluster) (rate(fabric_queue_dropped_packets_total[2m]))",
    ),
    Record("cluster:gpu_tensor_active_ratio:avg", "avg by (cluster) (gpu_tensor_active_ratio)"),
    Record("cluster:gpu_utilization_ratio:avg", "avg by (cluster) (gpu_utilization_ratio)"),
    Record("cluster:gpus:count", "count by (cluster) (gpu_utilization_ratio)"),
    Record("rack:gpu_power_watts:sum", "sum by (cluster, rack) (gpu_power_watts)"),
    Record("rack:gpu_temperature_celsius:avg", "avg by (cluster, rack) (gpu_temperature_celsius)"),
    Record(
        "job:gpu_tensor_active_ratio:avg",
        "avg by (cluster, job_id) (fabricscope_job_node * on (cluster, device) group_left () "
        "(avg by (cluster, device) (gpu_tensor_active_ratio)))",
    ),
    Record(
        "cluster:storage_written_bytes:rate2m",
        'sum by (cluster) (rate(storage_written_bytes_total{side="server"}[2m]))',
    ),
    Record(
        "cluster:storage_read_bytes:rate2m",
        'sum by (cluster) (rate(storage_read_bytes_total{side="server"}[2m]))',
    ),
    Record(
        "cluster:fabricscope_incidents:count",
        'count by (cluster, severity) (fabricscope_incident{state="firing"} == 1)',
    ),
)


def write_rules(folder: Path) -> list[Path]:
    """The files, written."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [{"record": rule.record, "expr": rule.expr} for rule in RECORDS]
    return [
        _write(
            folder / "fabricscope.yml",
            _GENERATED.format("alert_rules") + _ABOUT_ALERTS,
            {"name": "fabricscope", "rules": [_alert(rule) for rule in ALERTS]},
        ),
        _write(
            folder / "fabricscope-records.yml",
            _GENERATED.format("rules") + _ABOUT_RECORDS,
            {"name": "fabricscope-records", "interval": INTERVAL, "rules": records},
        ),
    ]


def _alert(rule: Alert) -> dict[str, Any]:
    return {
        "alert": rule.name,
        "expr": rule.expr,
        **({"for": rule.lasts} if rule.lasts else {}),
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.summary, "description": rule.description},
    }


def _write(path: Path, about: str, group: dict[str, Any]) -> Path:
    path.write_text(about + yaml.safe_dump({"groups": [group]}, sort_keys=False, width=116, allow_unicode=True))
    return path


if __name__ == "__main__":
    for written in write_rules(Path(sys.argv[1])):
        print(written)
