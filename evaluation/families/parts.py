"""The parts of the simulator that a family names, looked up when it runs: what is missing is an error."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from common.errors import ConfigError
from evaluation.families.family import Family, FaultChoice
from simulator.collection.config import CollectionConfig, Timing
from simulator.collection.presets import preset
from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS
from simulator.shapes.shape import Shape

# Uplinks carry a third of what the hosts of a leaf can send. Assumption: between full bandwidth and the 1:7 above the
# pods of Meta's 24,000 GPUs (Grattafiori et al., The Llama 3 Herd of Models, 2024, section 3.3).
OVERSUBSCRIPTION = 3.0
SPINE_GBPS = 800.0  # of the link from a leaf to a spine: two of 400 Gb/s


def check(families: Iterable[Family]) -> None:
    """ConfigError with a line for every part that some family names and the simulator lacks."""
    lacking = [f"family {family.name}: {line}" for family in families for line in _lacking(family)]
    if lacking:
        raise ConfigError("\n".join(lacking))


def _lacking(family: Family) -> Iterator[str]:
    try:
        cluster_config(family, JobMix(), seed=0, interval_s=10.0, step_ms=50)
    except ConfigError as error:
        yield str(error)
    try:
        collection_of(family)
    except ConfigError as error:
        yield str(error)
    if family.faults is None:
        return
    if unknown := [name for name in family.faults.kinds if name not in FAULTS]:
        yield f"no fault {', '.join(unknown)}, expected some of {', '.join(FAULTS)}"
    once = [name for name in family.faults.kinds if name in FAULTS and not FAULTS[name].intermittent]
    if once and family.faults.intermittent:
        yield f"{', '.join(once)}: cannot begin again, so not intermittent"


def how(choice: FaultChoice, on_s: float, off_s: float) -> dict[str, Any]:
    """The fields of ``ScheduledFault`` for faults that come and go or that lose their telemetry; none for others."""
    fields: dict[str, Any] = {"on_s": on_s, "off_s": off_s} if choice.intermittent else {}
    return fields | ({"silent": True} if choice.silent else {})


def strength(fault: str, wanted: float) -> float:
    """The nearest strength that means something for this fault."""
    least, most = FAULTS[fault].strengths
    return min(max(wanted, least), most)


def cluster_config(family: Family, mix: JobMix, *, seed: int, interval_s: float, step_ms: int) -> SimulatorConfig:
    """The cluster of a family. ConfigError for a condition, a kind of work or a shape that the simulator lacks."""
    is_oversubscribed = family.shape == "oversubscribed"
    fields: dict[str, Any] = {
        "hosts": family.hosts,
        "shape": Shape.TWO_TIER if is_oversubscribed else family.shape,
        "oversubscription": OVERSUBSCRIPTION if is_oversubscribed else 1.0,
        "conditions": [{"name": name} for name in family.conditions],
        "boot_s": family.boot_s,
        "jobs": {**mix.model_dump(), "kinds": family.work},
        "seed": seed,
        "interval_s": interval_s,
        "step_ms": step_ms,
    }
    try:
        return SimulatorConfig.model_validate(fields)
    except ValidationError as error:
        raise ConfigError("; ".join(_problem(each) for each in error.errors())) from error


def with_pods(config: SimulatorConfig, pod_hosts: int) -> SimulatorConfig:
    """The same cluster with leaves that ``pod_hosts`` hosts share, and as many spines as full bandwidth takes.

    As NVIDIA's DGX SuperPOD builds it (reference architecture, DGX H100): 32 hosts share a leaf for each of their eight
    rails, and four such units have 16 spines, with two links of 400 Gb/s from each leaf to each. Clusters that are
    smaller than two pods, or have another shape, stay as they are.
    """
    two_tier = config.shape in (Shape.TWO_TIER, Shape.INFINIBAND) and config.oversubscription == 1.0
    if not two_tier or config.hosts < 2 * pod_hosts:
        return config
    spines = math.ceil(pod_hosts * config.nic_gbps / SPINE_GBPS)
    fields = {"hosts_per_pod": pod_hosts, "rails_per_leaf": 1, "spines": spines, "uplink_gbps": SPINE_GBPS}
    return SimulatorConfig.model_validate({**config.model_dump(), **fields})


def _problem(error: Any) -> str:
    return f"{'.'.join(map(str, error['loc']))} = {error['input']!r}: {error['msg']}"


def collection_of(family: Family) -> CollectionConfig:
    """How the telemetry of a family is collected; ConfigError for a preset that the simulator lacks."""
    try:
        return preset(family.collection)
    except ValueError as error:
        raise ConfigError(f"no collection {family.collection!r}: {error}") from error


def evidence_s(family: Family, group: str, interval_s: float) -> float:
    """The longest that evidence of one group of metrics (``ports``, ``dcgm``, ``node``, ``lustre``) may be apart."""
    timing: Timing = getattr(collection_of(family), group)
    return float(max((interval_s, *timing.interval_s, *timing.refresh_s)))
