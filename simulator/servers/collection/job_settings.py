"""Settings of collectors that read each target at its own interval. Durations are real time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simulator.collection.config import Inventory
from simulator.collection.groups import GROUPS, SeriesGroup
from simulator.layout import Endpoint, Exporter, Flavour
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.collection.subscriptions import subscriptions
from simulator.servers.config import ServeConfig
from simulator.servers.job_settings import SOURCES, gnmi_job, scrape_job

# Defaults of ingest/collectors/gnmi, which a fast simulation divides by its speed
_GNMI_S = {"gather_max_s": 0.5, "connect_timeout_s": 10.0, "backoff_max_s": 30.0}


def scrape_jobs(config: ServeConfig, plan: CollectionPlan, endpoints: Sequence[Endpoint]) -> list[dict[str, Any]]:
    """A job for each exporter and interval."""
    found = []
    for exporter in SOURCES:
        (group,) = GROUPS[exporter]
        by_interval: dict[float, list[Endpoint]] = {}
        for endpoint in endpoints:
            if endpoint.exporter is exporter:
                by_interval.setdefault(plan.interval_s(endpoint, group), []).append(endpoint)
        for interval_s, targets in sorted(by_interval.items()):
            name = exporter.value if len(by_interval) == 1 else f"{exporter}-{interval_s:g}s"
            timeout_s = min(plan.config.durations.timeout_s, interval_s)
            job = scrape_job(name, exporter, targets, _real_s(config, interval_s))
            found.append(job | {"scrape_timeout": _real_s(config, timeout_s)})
    return found


def gnmi_jobs(
    config: ServeConfig, plan: CollectionPlan, switches: Mapping[Flavour, Iterable[Endpoint]]
) -> list[dict[str, Any]]:
    """A job for each flavour and set of intervals. switches: by flavour.

    Links that the inventory has are not learnt from neighbours.
    """
    lldp = plan.config.inventory == Inventory()
    found = []
    for flavour, endpoints in switches.items():
        by_intervals: dict[tuple[float, ...], list[Endpoint]] = {}
        for endpoint in endpoints:
            intervals = tuple(plan.interval_s(endpoint, group) for group in GROUPS[Exporter.GNMI])
            by_intervals.setdefault(intervals, []).append(endpoint)
        for number, (intervals, targets) in enumerate(sorted(by_intervals.items()), 1):
            name = f"gnmi-{flavour}" if len(by_intervals) == 1 else f"gnmi-{flavour}-{number}"
            job = gnmi_job(name, config, flavour, targets, _real_s(config, config.cluster.interval_s))
            groups: Iterable[SeriesGroup] = GROUPS[Exporter.GNMI]
            every_s = {group: _real_s(config, each_s) for group, each_s in zip(groups, intervals, strict=True)}
            job["subscriptions"] = subscriptions(flavour, every_s, lldp=lldp)
            found.append(job | {key: _real_s(config, waits_s) for key, waits_s in _GNMI_S.items()})
    return found


def _real_s(config: ServeConfig, simulated_s: float) -> float:
    return round(simulated_s / config.speed, 3)
