"""The parts of the simulator that a family names, looked up when it runs: what is missing is an error."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, cast

from pydantic import ValidationError

from common.errors import ConfigError
from evaluation.families.family import Family, FaultChoice
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault


def _presets() -> Mapping[str, Any]:
    """Ways to collect telemetry, by name."""
    try:
        return cast(Mapping[str, Any], import_module("simulator.collection.presets").PRESETS)
    except ModuleNotFoundError:
        return {}


PRESETS = _presets()
TODAY = Family(name="today", stands_for="what needs no part")
# Uplinks carry a third of what the hosts of a leaf can send. Assumption: between full bandwidth and the 1:7 above the
# pods of Meta's 24,000 GPUs (Grattafiori et al., The Llama 3 Herd of Models, 2024, section 3.3).
OVERSUBSCRIPTION = 3.0


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
        collection_of(family, seed=0)
    except ConfigError as error:
        yield str(error)
    if family.faults is None:
        return
    if unknown := [name for name in family.faults.kinds if name not in FAULTS]:
        yield f"no fault {', '.join(unknown)}, expected some of {', '.join(FAULTS)}"
    if lacking := sorted(how(family.faults, 0.0, 0.0).keys() - ScheduledFault.model_fields.keys()):
        yield f"faults have no {', '.join(lacking)}"
    known = (name for name in family.faults.kinds if name in FAULTS)
    once = [name for name in known if not getattr(FAULTS[name], "intermittent", True)]
    if once and family.faults.intermittent:
        yield f"{', '.join(once)}: cannot begin again, so not intermittent"


def how(choice: FaultChoice, on_s: float, off_s: float) -> dict[str, Any]:
    """The fields of ``ScheduledFault`` for faults that come and go or that lose their telemetry; none for others."""
    fields: dict[str, Any] = {"on_s": on_s, "off_s": off_s} if choice.intermittent else {}
    return fields | ({"silent": True} if choice.silent else {})


def strength(fault: str, wanted: float) -> float:
    """The nearest strength that means something for this fault."""
    least, most = getattr(FAULTS[fault], "strengths", (0.1, 2.0))
    return min(max(wanted, least), most)


def cluster_config(family: Family, mix: JobMix, *, seed: int, interval_s: float, step_ms: int) -> SimulatorConfig:
    """The cluster of a family. ConfigError for a condition, a kind of work or a shape that the simulator lacks."""
    fields: dict[str, Any] = {"hosts": family.hosts, "seed": seed, "interval_s": interval_s, "step_ms": step_ms}
    jobs = mix.model_dump()
    if family.work != TODAY.work:
        jobs["kinds"] = family.work
    if family.conditions:
        fields["conditions"] = [{"name": name} for name in family.conditions]
    if family.shape == "oversubscribed":
        fields["oversubscription"] = OVERSUBSCRIPTION
    elif family.shape != TODAY.shape:
        fields["shape"] = family.shape
    try:
        return SimulatorConfig.model_validate({**fields, "jobs": jobs})
    except ValidationError as error:
        raise ConfigError("; ".join(_problem(each) for each in error.errors())) from error


def _problem(error: Any) -> str:
    return f"{'.'.join(map(str, error['loc']))} = {error['input']!r}: {error['msg']}"


def collection_of(family: Family, seed: int) -> dict[str, Any]:
    """Arguments of ``campaign`` for the telemetry of a family; ``seed`` draws what is lost or wrong.

    ConfigError for a preset that the simulator lacks.
    """
    if family.collection == TODAY.collection:
        return {}
    if family.collection not in PRESETS or "collection" not in inspect.signature(campaign).parameters:
        known = ", ".join({TODAY.collection: None, **PRESETS})
        raise ConfigError(f"no collection {family.collection!r}, expected one of {known}")
    return {"collection": PRESETS[family.collection], "collection_seed": seed}


def evidence_s(family: Family, group: str, interval_s: float) -> float:
    """The longest that evidence of one group of metrics (``ports``, ``dcgm``, ``node``, ``lustre``) may be apart."""
    preset = PRESETS.get(family.collection)
    timing = getattr(preset, group, None)
    if timing is None:
        return interval_s
    return float(max((interval_s, *timing.interval_s, *timing.refresh_s)))


def maintenance_announced(family: Family) -> bool:
    """Whether the product hears of maintenance that people announce."""
    return bool(getattr(PRESETS.get(family.collection), "maintenance_announced", True))
