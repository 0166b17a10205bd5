"""What correlation costs a tick in a storm: 4,096 hosts, 1,000 and 9,846 findings that are active at once.

The reference encodes the active findings for the bus once, which says how fast the machine is at that moment.
Milliseconds of CPU time. Of ticks in which all findings are new the median and the 95th percentile of the slowest ones
of many storms. All storms are the same work: so the slowest tick, where each is taken at its least, is what the program
does, and what is above it is the machine. Of other ticks the least of several.
"""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median, quantiles

from analytics.correlate.budget import LeftOut
from analytics.correlate.correlator import Correlator
from benchmarks.loads.storm import START_NS, failing_gpus, large_cluster, mixed, seen_again
from benchmarks.rows import Row, print_rows, row
from common.garbage import collect_less_often
from common.units import NS_PER_S
from telemetry.codec.records import encode_record
from telemetry.findings import Finding
from telemetry.topology import Link, Topology, TopologyFact

_HOSTS, _TICK_NS = 4096, 5 * NS_PER_S
_TICKS, _STORMS = 5, 20
_REFRESHED = 12  # a detector publishes an active finding again every twelve ticks


class _Storm:
    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._correlator = Correlator()
        self._now_ns = START_NS
        self.tick(())  # the topology is known before
        gc.collect()  # a collection of what is new falls into no tick, as in a process that has run for a while

    def tick(self, changed: Sequence[Finding]) -> float:
        """CPU time of a step, in milliseconds."""
        self._now_ns += _TICK_NS
        began_s = time.process_time()
        self._correlator.step(self._now_ns, changed, self.topology, ())
        return 1e3 * (time.process_time() - began_s)

    def storm(self, findings: Sequence[Finding]) -> list[float]:
        """The steps that take all of these, in milliseconds."""
        spent_ms = [self.tick(findings)]
        while self._correlator.left_out.get(LeftOut.TICK_LIMIT, 0):
            spent_ms.append(self.tick(()))
        return spent_ms

    def refresh(self, findings: Sequence[Finding], part: int) -> float:
        return self.tick(seen_again(findings[part::_REFRESHED], self._now_ns))


def _encoding_ms(findings: Iterable[Finding]) -> float:
    began_s = time.process_time()
    for finding in findings:
        encode_record(finding)
    return 1e3 * (time.process_time() - began_s)


def _least(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(_TICKS))


def measure(name: str, topology: Topology, findings: Sequence[Finding]) -> list[Row]:
    """All at once, then ticks in which nothing changed, and in which a twelfth has been seen again."""
    reference = _least(lambda: _encoding_ms(findings))
    spent_ms = []
    for _ in range(_STORMS):
        storm = _Storm(topology)
        spent_ms.append(storm.storm(findings))
    slowest_ms = list(map(max, spent_ms))
    p95_ms = quantiles(slowest_ms, n=20, method="inclusive")[-1]
    least_ms = max(map(min, zip(*spent_ms, strict=True)))
    quiet = _least(lambda: storm.tick(()))
    seen = min(storm.refresh(findings, part) for part in range(_TICKS))
    return [
        row(f"correlation: {name}, all new, a tick (median)", median(slowest_ms), "ms", reference),
        row(f"correlation: {name}, all new, a tick (p95)", p95_ms, "ms", reference),
        row(f"correlation: {name}, all new, a tick (each at its least)", least_ms, "ms", reference),
        row(f"correlation: {name}, none changed, a tick", quiet, "ms", reference),
        row(f"correlation: {name}, a twelfth seen again, a tick", seen, "ms", reference),
    ]


def links_go_away(topology: Topology) -> Row:
    """A tick in which one link is gone, and nothing else is wrong."""
    storm = _Storm(topology)
    spent_ms = []
    for link in topology.entities(Link)[:_TICKS]:
        storm.topology = storm.topology.with_facts([TopologyFact(link, START_NS + 1, "lldp", gone=True)])
        spent_ms.append(storm.tick(()))
    reference = _least(lambda: _encoding_ms(failing_gpus(_HOSTS, 1000)))
    return row("correlation: a link goes away, a tick", min(spent_ms), "ms", reference)


def run() -> list[Row]:
    collect_less_often()  # as the stages do
    topology = large_cluster(_HOSTS)
    return [
        links_go_away(topology),
        *measure("1,000 findings of GPUs", topology, failing_gpus(_HOSTS, 1000)),
        *measure("1,000 findings of all kinds", topology, mixed(_HOSTS, 1000)),
        *measure("9,846 findings of 2,446 GPUs", topology, failing_gpus(_HOSTS, 9846)),
    ]


if __name__ == "__main__":
    print_rows(run())
