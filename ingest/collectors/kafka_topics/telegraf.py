"""What Telegraf collected, of all hosts and devices at once."""

from collections import Counter
from collections.abc import Sequence, Set
from typing import Protocol

from common.threads import OneThread
from common.units import to_ns
from ingest.collectors.admitted import Admitted
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config, Format
from ingest.collectors.kafka_topics.decode import scan_lines, scan_metrics
from ingest.collectors.kafka_topics.decode.fields import MALFORMED, Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.kafka_topics.decode.telegraf_json import JsonReader
from ingest.collectors.pushed_series import PushedSeries, warm_up
from ingest.collectors.remote_write.decode.body import RequestReader
from ingest.collectors.remote_write.decode.body import warm_up as warm_up_requests

NATIVE = "native_histogram"


class TelegrafSeries:
    """All series of some topics."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        self._config, self._context = config, context
        limits = config.limits
        self._series = PushedSeries(
            config.job_name,
            config.rules,
            context.clock(),
            series_max=limits.all_series_max,
            targets_max=limits.devices_max,
        )
        self._reader = _reader(config.format, self._series, limits.message_bytes_max)

    def warm_up(self) -> None:
        """Compiles what decodes, or loads it."""
        warm_up()
        match self._config.format:
            case Format.TELEGRAF_REMOTE_WRITE:
                warm_up_requests()
            case Format.TELEGRAF_JSON:
                scan_metrics.warm_up()
            case _:
                scan_lines.warm_up()

    @property
    def unmapped(self) -> Set[str]:
        """Names that nothing maps."""
        return self._series.unmapped

    async def take(self, messages: Sequence[bytes], reading: OneThread, emit: Emit) -> None:
        """Emits the samples of each device."""
        job, ledger = self._config.job_name, self._context.ledger
        admitted, dropped = await reading(self._read, messages)
        admitted.count(ledger)
        for batch in admitted.batches:
            emit(batch)
        metrics.SAMPLES_UNMAPPED.labels(job).inc(admitted.unmapped)
        for word, count in dropped.items():
            metrics.PARTS_DROPPED.labels(job, word).inc(count)

    def watch(self, emit: Emit) -> None:
        """Says of each device without samples that it is silent."""
        for batch in self._series.silent(self._context.clock(), to_ns(self._config.silence_s)):
            emit(batch)

    def _read(self, messages: Sequence[bytes]) -> tuple[Admitted, Counter[str]]:
        """What they hold; those that hold nothing are counted."""
        dropped: Counter[str] = Counter()
        if of_no_use := self._reader.read(messages, dropped):
            metrics.MESSAGES_DROPPED.labels(self._config.job_name, MALFORMED).inc(of_no_use)
        return self._reader.admit(self._context.clock()), dropped


class _Reader(Protocol):
    """Of one format."""

    def read(self, messages: Sequence[bytes], dropped: Counter[str]) -> int:
        """Their samples wait for ``admit``; counts the parts that are of no use. Returns how many are as a whole."""
        ...

    def admit(self, now_ns: int) -> Admitted: ...


class _Fields:
    """Lines or JSON."""

    def __init__(self, reader: LineReader | JsonReader) -> None:
        self._reader, self._lines = reader, Lines()

    def read(self, messages: Sequence[bytes], dropped: Counter[str]) -> int:
        of_no_use = self._reader.read_all(messages, self._lines)
        dropped.update(self._lines.dropped)
        self._lines.dropped.clear()
        return of_no_use

    def admit(self, now_ns: int) -> Admitted:
        lines, self._lines = self._lines, Lines()
        return self._reader.admit(lines, now_ns)


class _RemoteWrite:
    """Bodies of remote write 1.0, each packed with Snappy, as those that are sent to our receiver."""

    def __init__(self, series: PushedSeries, bytes_max: int) -> None:
        self._reader = RequestReader(series, bytes_max)

    def read(self, messages: Sequence[bytes], dropped: Counter[str]) -> int:
        histograms, of_no_use = self._reader.read_together(messages)
        if histograms:
            dropped[NATIVE] += histograms
        return of_no_use

    def admit(self, now_ns: int) -> Admitted:
        return self._reader.admit(now_ns)


def _reader(form: Format, series: PushedSeries, bytes_max: int) -> _Reader:
    match form:
        case Format.TELEGRAF_REMOTE_WRITE:
            return _RemoteWrite(series, bytes_max)
        case Format.TELEGRAF_JSON:
            return _Fields(JsonReader(series))
        case _:
            return _Fields(LineReader(series))
