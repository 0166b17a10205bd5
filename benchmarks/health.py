"""What health costs: simulated node-minutes per CPU-second, of the simulator and of the analytics engine.

``python -m benchmarks.health [HOSTS ...]`` measures other sizes of a cluster. The reference is a Python loop with rates
and one baseline over as many samples, which says how fast the machine is at that moment.
"""

import sys
import time
from collections.abc import Sequence

from analytics.config import EngineConfig
from analytics.worker import build_engine
from benchmarks.analytics import python_rate
from benchmarks.rows import Row, print_rows, row
from common.units import NS_PER_S
from evaluation.families.family import Family, read_families
from evaluation.families.paging import Pager
from evaluation.families.plans import FamilyPlan, healthy_plan
from evaluation.families.run_plan import ticks
from telemetry.incidents import Incident

_SIZES = (8, 32)
_FAMILIES = ("healthy-plain", "healthy-everything")  # a quiet cluster, and one with every disturbance
_SETTLED_S, _MEASURED_S = 120, 180
_SEED = 1


def costs(plan: FamilyPlan) -> tuple[float, float, int]:
    """CPU-seconds (user and system, all threads) of simulator and engine, and samples, once the cluster is settled."""
    engine, pager = build_engine(EngineConfig(interval_s=plan.config.interval_s)), Pager()
    simulated_s = engine_s = 0.0
    samples, first_ns = 0, -1
    began_s = time.process_time()
    for tick in ticks(plan):
        collected_s = time.process_time()
        engine.add_facts(tick.facts)
        for change in tick.changes:
            engine.add_change(change)
        for batch in tick.batches:
            engine.observe(batch)
        pager.step([output for output in engine.advance() if isinstance(output, Incident)], tick.now_ns)
        ended_s = time.process_time()
        first_ns = tick.now_ns if first_ns < 0 else first_ns
        if tick.now_ns - first_ns >= _SETTLED_S * NS_PER_S:
            simulated_s, engine_s = simulated_s + collected_s - began_s, engine_s + ended_s - collected_s
            samples += sum(map(len, tick.batches))
        began_s = ended_s
    return simulated_s, engine_s, samples


def measure(family: Family, hosts: int, loop: float) -> list[Row]:
    """Rows of one size of a family. loop: samples per CPU-second of the reference."""
    sized = family.model_copy(update={"hosts": hosts})
    simulated_s, engine_s, samples = costs(healthy_plan(sized, _SEED, 0, (_SETTLED_S + _MEASURED_S) / 3600.0))
    node_minutes = hosts * _MEASURED_S / 60.0
    reference = node_minutes / (samples / loop)
    parts = {"simulator": simulated_s, "engine": engine_s}
    return [
        row(f"health: {family.name}, {hosts} hosts, {part}", node_minutes / spent_s, "node-minutes/CPU-s", reference)
        for part, spent_s in parts.items()
    ]


def run(sizes: Sequence[int] = _SIZES) -> list[Row]:
    loop = python_rate()
    families = {family.name: family for family in read_families().report}
    return [found for name in _FAMILIES for hosts in sizes for found in measure(families[name], hosts, loop)]


if __name__ == "__main__":
    print_rows(run([int(text) for text in sys.argv[1:]] or _SIZES))
