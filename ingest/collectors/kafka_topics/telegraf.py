"""What Telegraf collected, of all hosts and devices at once."""

from collections import Counter
from collections.abc import Sequence, Set

from common.threads import OneThread
from common.units import to_ns
from ingest.collectors.admitted import Admitted
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config
from ingest.collectors.kafka_topics.decode.influx_line import LineReader, Lines
from ingest.collectors.pushed_series import PushedSeries, warm_up


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
        self._reader = LineReader(self._series)

    warm_up = staticmethod(warm_up)

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
        lines = Lines()
        for message in messages:
            self._reader.read(message, lines)
        return self._reader.admit(lines, self._context.clock()), lines.dropped
