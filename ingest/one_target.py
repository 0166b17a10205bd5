"""One target, once: what each of its series becomes, which of them nothing maps, and what else it gives."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from common.errors import ConfigError
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.base import (
    Clock,
    ClusterEvent,
    CollectorContext,
    PollCollector,
    ShowsMapping,
    SourceSeries,
    StreamCollector,
)
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from ingest.once import listen, polled_targets
from ingest.registry import build_collectors
from telemetry.samples import SampleBatch

_WORKERS = 2
_NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class TargetReading:
    """What one target gave.

    values: newest value of each canonical series. series: what became of each of the source's, where its collector maps
    names. events: facts and changes. problem: why it does not answer, in words; '' where it does.
    dropped: samples of mapped series, by reason. unmapped, left_out: series that nothing maps, and others that are left
    out on purpose.
    """

    target: str
    device: str = ""
    problem: str = ""
    duration_s: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    series: Sequence[SourceSeries] = ()
    events: Sequence[ClusterEvent] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    unmapped: int = 0
    left_out: int = 0


async def read_target(config: IngestConfig, clock: Clock, lasts_s: float, wanted: str) -> TargetReading:
    """That of the one target that is called ``wanted``: its whole name, job/address, or either part.

    lasts_s: the longest that it is waited for. ConfigError when no target is called so, or several, or when it is one
    that cannot be asked, and for a file that the configuration names and that is missing or wrong.
    """
    workers = ThreadPoolExecutor(_WORKERS, "decode")
    ledger = Ledger(clock())
    polled: Sequence[PollCollector] = ()
    try:
        sections = build_collectors(config, CollectorContext(ledger, clock, workers))
        polled, _ = await polled_targets(sections)
        readings: dict[str, Callable[[], Awaitable[TargetReading]]] = {
            each.name: partial(_poll, each, clock, lasts_s) for each in polled
        }
        readings |= {each.name: partial(_listen, each, lasts_s) for section in sections for each in section.streaming}
        reading = await readings[_name_of(readings, wanted)]()
        return replace(reading, dropped=ledger.account(reading.target).dropped)
    finally:
        await asyncio.gather(*(each.stop() for each in polled))
        workers.shutdown(wait=False, cancel_futures=True)


def _name_of(names: Collection[str], wanted: str) -> str:
    found = sorted(name for name in names if wanted in (name, *name.split("/", 1)))
    if not found:
        raise ConfigError(f"no target is called {wanted}; `fabricscope collect` lists them")
    if len(found) > 1:
        more = f" and {len(found) - _NAMED_MAX} more" if len(found) > _NAMED_MAX else ""
        named = ", ".join(found[:_NAMED_MAX])
        raise ConfigError(f"{wanted} is the name of several targets, expected one: {named}{more}")
    return found[0]


async def _poll(poller: PollCollector, clock: Clock, lasts_s: float) -> TargetReading:
    try:
        output = await asyncio.wait_for(poller.collect(clock()), lasts_s)
    except TimeoutError:
        return TargetReading(poller.name, problem=f"timeout: nothing within {lasts_s:g} s")
    except OutOfDescriptors:
        return TargetReading(poller.name, problem="no file descriptors are left on this machine")
    if not isinstance(output, SampleBatch):
        return TargetReading(poller.name, events=output)
    return _reading(poller.name, [output], (), poller)


async def _listen(stream: StreamCollector, lasts_s: float) -> TargetReading:
    if not isinstance(stream, ShowsMapping):
        raise ConfigError(
            f"{stream.name} is sent what others push, and cannot be asked: `fabricscope collect --target "
            f"{stream.name}` listens, and once it runs `fabricscope ledger --targets` says what came"
        )
    heard = await listen(stream, lasts_s)
    if heard.failure or not heard.batches:
        return TargetReading(stream.name, problem=heard.failure or f"silent: nothing within {lasts_s:g} s")
    return _reading(stream.name, heard.batches, heard.events, stream)


def _reading(
    target: str, batches: Sequence[SampleBatch], events: Sequence[ClusterEvent], collector: object
) -> TargetReading:
    """batches: at least one, in their order."""
    last = next((each for each in reversed(batches) if len(each)), batches[-1])
    values = {
        each.table.keys[row]: value
        for each in batches
        for row, value in zip(each.series.tolist(), each.values.tolist(), strict=True)
    }
    return TargetReading(
        target,
        last.table.device,
        str(last.collection.down or ""),
        last.collection.duration_s,
        values,
        tuple(collector.source_series()) if isinstance(collector, ShowsMapping) else (),
        events,
        unmapped=last.collection.unmapped,
        left_out=last.collection.left_out,
    )
