"""Every configured target once, as the stage would collect it: does it answer, and with what?"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import structlog

from ingest.admission.reasons import DeviceBusy, OutOfDescriptors
from ingest.collectors.base import (
    Clock,
    ClusterEvent,
    CollectorContext,
    CollectorOutput,
    Collectors,
    MapsNames,
    PollCollector,
    StreamCollector,
)
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from ingest.registry import build_collectors
from telemetry.samples import SampleBatch

log = structlog.get_logger("ingest")
_AT_ONCE = 64
_WORKERS = 2
_ALL_SENT_S = 1.0  # after the first samples of a stream: each subscription begins with all that it covers


@dataclass(frozen=True, slots=True)
class Outcome:
    """One target. batch: its samples, or the batch without any that holds the reason; None where it sent events alone.

    events: facts and changes that it sent. unmapped: names that it sent and the catalogue does not know, sorted.
    problem: why it does not answer, in words; '' where it does.
    """

    target: str
    batch: SampleBatch | None = None
    events: int = 0
    unmapped: Sequence[str] = ()
    problem: str = ""


async def collect_once(
    config: IngestConfig,
    clock: Clock,
    lasts_s: float,
    wanted: Callable[[str], bool] = lambda target: True,
    show: Callable[[int, int], None] = lambda ended, expected: None,
) -> list[Outcome]:
    """The outcome of each target that is ``wanted``, by name, and of each job whose list of targets cannot be read.

    lasts_s: the longest that a target is waited for. show: called with how many of how many have ended.
    ConfigError when a file that the configuration names is missing or wrong.
    """
    workers = ThreadPoolExecutor(_WORKERS, "decode")
    try:
        sections = build_collectors(
            config, CollectorContext(Ledger(clock()), clock, workers, pace=config.scheduler.device_pace())
        )
        polled, unread = await polled_targets(sections)
        pollers = [each for each in polled if wanted(each.name)]
        streams = [each for section in sections for each in section.streaming if wanted(each.name)]
        gate = asyncio.Semaphore(_AT_ONCE)
        work: list[Awaitable[Sequence[Outcome]]] = [_poll(each, clock, lasts_s, gate) for each in pollers]
        work += [_listen(each, lasts_s) for each in streams]
        found = [outcome for outcome in unread if wanted(outcome.target)]
        for ended, outcome in enumerate(asyncio.as_completed(work), 1):
            found += await outcome
            show(ended, len(work))
        await asyncio.gather(*(each.stop() for each in polled))
        return sorted(found, key=lambda outcome: outcome.target)
    finally:
        workers.shutdown(wait=False, cancel_futures=True)


async def polled_targets(sections: Iterable[Collectors]) -> tuple[list[PollCollector], list[Outcome]]:
    """All polled targets, and the jobs of which nobody can say what their targets are."""
    pollers: list[PollCollector] = []
    unread: list[Outcome] = []
    for section in sections:
        pollers += section.polled
        for job in section.discovering:
            changes = await job.refresh()
            pollers += changes.added
            if changes.targets is None:
                unread.append(Outcome(job.name, problem="its list of targets cannot be read"))
    return pollers, unread


async def _poll(poller: PollCollector, clock: Clock, lasts_s: float, gate: asyncio.Semaphore) -> Sequence[Outcome]:
    return (await _polled(poller, clock, lasts_s, gate),)


async def _polled(poller: PollCollector, clock: Clock, lasts_s: float, gate: asyncio.Semaphore) -> Outcome:
    async with gate:
        try:
            output = await asyncio.wait_for(poller.collect(clock()), lasts_s)
        except TimeoutError:
            return Outcome(poller.name, problem=f"timeout: nothing within {lasts_s:g} s")
        except OutOfDescriptors:
            return Outcome(poller.name, problem="no file descriptors are left on this machine")
        except DeviceBusy:
            return Outcome(poller.name, problem="not asked: other targets of its device were, for as long as it waits")
        except Exception as error:
            log.exception("collector failed", target=poller.name)
            return Outcome(poller.name, problem=f"internal: {type(error).__name__}: {error}")
    unmapped = sorted(poller.unmapped) if isinstance(poller, MapsNames) else ()
    return _outcome(poller.name, output, unmapped)


def _outcome(target: str, output: CollectorOutput, unmapped: Sequence[str] = ()) -> Outcome:
    if not isinstance(output, SampleBatch):
        return Outcome(target, events=len(output))
    return Outcome(target, output, unmapped=unmapped, problem=str(output.collection.down or ""))


async def _listen(stream: StreamCollector, lasts_s: float) -> Sequence[Outcome]:
    """Of each target that it sends for the largest batch of its first samples; else why there are none."""
    found = await _heard(stream, lasts_s)
    if not isinstance(stream, MapsNames):
        return found
    return [replace(each, unmapped=sorted(stream.unmapped)) for each in found]


async def _heard(stream: StreamCollector, lasts_s: float) -> Sequence[Outcome]:
    heard = await listen(stream, lasts_s)
    if heard.failure:
        return [Outcome(stream.name, events=len(heard.events), problem=heard.failure)]
    if not heard.batches:
        return [Outcome(stream.name, events=len(heard.events), problem=f"silent: nothing within {lasts_s:g} s")]
    of_targets: dict[str, SampleBatch] = {}
    for batch in heard.batches:
        target = batch.table.target
        shown = of_targets.get(target)
        if shown is None or len(batch) >= len(shown):
            of_targets[target] = batch
    problems = {target: str(batch.collection.down or "") for target, batch in of_targets.items()}
    first, *others = [Outcome(target, batch, problem=problems[target]) for target, batch in of_targets.items()]
    return [replace(first, events=len(heard.events)), *others]


@dataclass(slots=True)
class Heard:
    """What a stream sent. sends: whether there are samples. failure: of ours, in words; '' for none."""

    batches: list[SampleBatch] = field(default_factory=list)
    events: list[ClusterEvent] = field(default_factory=list)
    sends: bool = False
    failure: str = ""


async def listen(stream: StreamCollector, lasts_s: float) -> Heard:
    """For ``lasts_s`` at most: until shortly after the first samples, since a subscription begins with all of them."""
    heard, sends = Heard(), asyncio.Event()

    def emit(output: CollectorOutput) -> None:
        if not isinstance(output, SampleBatch):
            heard.events += output
            return
        heard.batches.append(output)
        if output.collection.up and len(output):
            heard.sends = True
            sends.set()

    running = asyncio.create_task(stream.run(emit))
    ended = asyncio.create_task(sends.wait())
    await asyncio.wait([running, ended], timeout=lasts_s, return_when=asyncio.FIRST_COMPLETED)
    if sends.is_set():
        await asyncio.wait([running], timeout=_ALL_SENT_S)
    for task in (running, ended):
        task.cancel()
    failure, _ = await asyncio.gather(running, ended, return_exceptions=True)
    if isinstance(failure, Exception):
        log.error("collector failed", target=stream.name, exc_info=failure)
        heard.failure = f"internal: {type(failure).__name__}: {failure}"
    return heard
