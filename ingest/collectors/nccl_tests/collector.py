"""The collector of one folder with results of nccl-tests."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import structlog

from common.errors import BadInput
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import SourceSample, Values
from ingest.collectors.command import NoAnswer
from ingest.collectors.nccl_tests import metrics
from ingest.collectors.nccl_tests.config import Config
from ingest.collectors.nccl_tests.folder import Folder, ResultFile
from ingest.collectors.nccl_tests.result import Result
from ingest.collectors.value_collector import ValueCollector
from ingest.ledger import DropReason
from telemetry.samples import DownReason

log = structlog.get_logger("ingest")
_STATES = ("used", "refused", "left_out")
_Key = tuple[str, tuple[tuple[str, str], ...]]
_Read = tuple[list[ResultFile], list[tuple[Path, ResultFile]]]


class NcclTestsCollector(ValueCollector):
    """States the results of all files in each interval, as baselines hold until there are others."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        super().__init__(config.job_name, config.device, config.interval_s, "nccl_tests", context)
        self._config, self._clock = config, context.clock
        self._folder = Folder(config)
        self._files: list[ResultFile] = []
        self._stated = values_of([], config)
        self._reading: asyncio.Future[_Read] | None = None

    async def _values(self) -> Values:
        files, fresh = await self._read()
        for path, file in fresh:
            self._count(str(path), file)
        if files != self._files:
            self._files, self._stated = files, values_of(files, self._config)
        return self._stated

    async def _read(self) -> _Read:
        """In a thread: a folder on a network may hang, and then is not asked again until it is back."""
        if self._reading is not None and not self._reading.done():
            raise NoAnswer(DownReason.TIMEOUT, f"{self._config.folder}: an earlier look has not returned")
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._folder.read, self._clock()))
        self._reading.add_done_callback(_forget_error)
        async with asyncio.timeout(self._config.timeout_s):
            return await asyncio.shield(self._reading)

    def _count(self, path: str, file: ResultFile) -> None:
        malformed = 0
        for test in file.tests:
            if isinstance(test, BadInput):
                metrics.RESULTS_REFUSED.labels(self.name, test.reason).inc()
                log.warning(
                    "result is not used", target=self.name, file=path, reason=test.reason, error=str(test)[:200]
                )
            else:
                malformed += test.malformed
        if malformed:
            log.warning("result has malformed rows", target=self.name, file=path, rows=malformed)
            self._ledger.received(malformed, self.name)
            self._ledger.dropped(DropReason.BAD_FORMAT, malformed, self.name)


def values_of(files: Sequence[ResultFile], config: Config) -> Values:
    """files: newest first: of two results of the same test the newer one counts, in a file the later one. Pure."""
    found: dict[_Key, SourceSample] = {}
    states = Counter(dict.fromkeys(_STATES, 0))
    for file in files:
        for test in reversed(file.tests):
            if not isinstance(test, Result):
                states["refused"] += 1
                continue
            of_test = {(sample.name, tuple(sample.labels.items())): sample for sample in test.samples(config.hosts)}
            if len(found) + len(of_test) > config.limits.samples_max:
                states["left_out"] += 1
                continue
            states["used"] += 1
            for key, sample in of_test.items():
                found.setdefault(key, sample)
    stated = [SourceSample("results", {"state": state}, float(count)) for state, count in states.items()]
    return Values.of([*stated, *found.values()])


def nccl_tests_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NcclTestsCollector]:
    """One a folder."""
    return [NcclTestsCollector(config, context) for config in configs]


def _forget_error(reading: "asyncio.Future[_Read]") -> None:
    """Of a look that comes back after its collection has ended: nobody waits for it."""
    if not reading.cancelled():
        reading.exception()
