"""The collector of one device: reads its tables one after the other, and no faster than it may."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import numpy as np
import structlog

from common.errors import BadInput, ConfigError, Unavailable
from common.secrets import read_secret_text
from ingest.admission.line import Priority
from ingest.collectors.base import CollectorContext, SourceSeries
from ingest.collectors.snmp.config import Config, TargetConfig
from ingest.collectors.snmp.counters import restarted
from ingest.collectors.snmp.decode import Texts, began_of, decode, scalar_readings
from ingest.collectors.snmp.objects import Table, scalars, tables
from ingest.collectors.snmp.samples import SampleReader, Samples
from ingest.collectors.snmp.session import Credentials, NoResponse, Session, TooBig, by_community, by_user
from ingest.collectors.snmp.walk import Rows, Walk
from ingest.ledger import DropReason
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")
_SECTION = "snmp_configs"
_PASSWORD_CHARS_MIN = 8  # RFC 3414, 11.2
_READ_AGAIN = 10  # collections between two looks at what rarely changes: names of rows, and tables that a device lacks


class SnmpCollector:
    """One device. Its session is kept while its credentials are the same."""

    def __init__(self, config: Config, target: TargetConfig, context: CollectorContext) -> None:
        self._config, self._target, self._ledger = config, target, context.ledger
        self._epoch_ns, self._seq = context.clock(), 0
        self._tables = wanted_tables(config)
        self._reader = SampleReader({**target.labels, "device": target.device}, series_max=config.series_max)
        self._table = SeriesTable(self.name, target.device, ())
        self._session: Session | None = None
        self._secrets: tuple[str, ...] = ()
        self._varbinds_max = config.varbinds_max
        self._next_request_s = 0.0
        self._clocks: Mapping[str, int] = {}
        self._texts = Texts()
        self._absent: Set[Table] = frozenset()
        self._known_for = 0  # collections until names and absent tables are read again
        self._down: DownReason | None = None

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._target.address}"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return self._config.priority

    @property
    def unmapped(self) -> Set[str]:
        return self._reader.unmapped

    def source_series(self) -> Iterator[SourceSeries]:
        return self._reader.source_series()

    async def collect(self, now_ns: int) -> SampleBatch:
        """A collection that fails has no samples: half of a device would look like the loss of its other half."""
        started_s = asyncio.get_running_loop().time()
        samples, down, problem = Samples(), None, ""
        try:
            async with asyncio.timeout(self._config.deadline_s):
                samples = await self._samples()
        except TimeoutError:
            down, problem = DownReason.TIMEOUT, f"not read within {self._config.deadline_s:g} s"
        except NoResponse as error:
            down, problem = error.reason, str(error)
        except Unavailable as error:  # of a secret
            down, problem = DownReason.AUTH, str(error)
        except BadInput as error:
            down, problem = DownReason(error.reason), str(error)
        if down is not None:
            self._known_for = 0
        else:
            self._count(samples)
            if not samples.values:
                down, problem = DownReason.NO_SAMPLES, "no known objects"
        self._set_down(down, problem)
        duration_s = asyncio.get_running_loop().time() - started_s
        collection = Collection(self._epoch_ns, self._seq, now_ns, duration_s, down, unmapped=samples.unmapped)
        self._seq += 1
        return self._batch(collection, samples.values)

    async def stop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _count(self, samples: Samples) -> None:
        self._ledger.received(samples.received, self.name)
        self._ledger.unmapped(samples.unmapped)
        for reason, n in samples.dropped.items():
            self._ledger.dropped(reason, n, self.name)

    def _batch(self, collection: Collection, values: Mapping[str, float]) -> SampleBatch:
        if values and self._table.keys != tuple(values):
            self._table = SeriesTable(self.name, self._target.device, tuple(values))
        times_ns = np.full(len(values), collection.collected_ns, np.int64)
        return SampleBatch(
            self._table, collection, times_ns, all_rows(len(values)), np.array([*values.values()], np.float64)
        )

    async def _samples(self) -> Samples:
        session, clocks = await self._greeted()
        if restarted(self._clocks, clocks):
            self._reader.counters.began_again()
            self._known_for = 0
        self._clocks = clocks
        if self._known_for <= 0:
            await self._read_texts(session)
        self._known_for -= 1
        rows = {table: await self._walk(session, table, table.columns) for table in self._tables if self._has(table)}
        return self._read(clocks, rows)

    def _has(self, table: Table) -> bool:
        return table not in self._absent and bool(table.columns)

    def _read(self, clocks: Mapping[str, int], rows: Mapping[Table, Rows]) -> Samples:
        readings, bad, began = list(scalar_readings(clocks)), 0, began_of(rows)
        for table, of_table in rows.items():
            decoded = decode(table, of_table, self._texts, began)
            readings += decoded.readings
            bad += decoded.bad
            if decoded.unknown and self._known_for < _READ_AGAIN - 1:  # a row that is new since the names were read
                self._known_for = 0
        samples = self._reader.read(readings)
        samples.received += bad
        samples.dropped[DropReason.BAD_FORMAT] += bad
        return samples

    async def _read_texts(self, session: Session) -> None:
        """What names the rows, and which tables the device has."""
        texts, absent = Texts(), set[Table]()
        for table in self._tables:
            rows = await self._walk(session, table, table.texts or list(table.columns)[:1])
            if not any(rows.values()):
                absent.add(table)
            texts.add(table, rows)
        self._texts, self._absent, self._known_for = texts, absent, _READ_AGAIN

    async def _walk(self, session: Session, table: Table, names: Iterable[str]) -> Rows:
        columns = [table.column(name) for name in names]
        walk = Walk(columns, varbinds_max=self._varbinds_max, values_max=self._config.series_max)
        while (request := walk.request()) is not None:
            await self._wait_turn()
            try:
                walk.accept(await session.bulk(*request))
            except TooBig:
                self._varbinds_max = walk.reduce()
        return walk.rows

    async def _clocks_of(self, session: Session) -> dict[str, int]:
        await self._wait_turn()
        try:
            varbinds = await session.get(list(scalars().values()))
        except TooBig:
            raise BadInput("two numbers are too big for a response", "too_large") from None
        names = {oid: name for name, oid in scalars().items()}
        return {names[oid]: value for oid, value in varbinds if oid in names and isinstance(value, int)}

    async def _wait_turn(self) -> None:
        loop = asyncio.get_running_loop()
        if (wait_s := self._next_request_s - loop.time()) > 0:
            await asyncio.sleep(wait_s)
        self._next_request_s = loop.time() + 1 / self._config.requests_per_s

    async def _greeted(self) -> tuple[Session, dict[str, int]]:
        """The session, and what the agent's clocks say.

        An agent of SNMPv3 that restarted does not accept what it accepted before, as its clock is another one: a new
        session learns it. Of a device that does not answer, a new session looks up the address again.
        """
        session = await self._opened()
        try:
            return session, await self._clocks_of(session)
        except NoResponse:
            await self.stop()
            if self._config.user is None or self._down is not None or not self._clocks:
                raise
        session = await self._opened()
        return session, await self._clocks_of(session)

    async def _opened(self) -> Session:
        """The session, a new one when a secret has changed. Unavailable when one cannot be read."""
        config = self._config
        secrets = tuple(read_secret_text(path) for path in config.secret_files.values() if path is not None)
        if self._session is not None and secrets == self._secrets:
            return self._session
        await self.stop()
        context_name = config.user.context_name if config.user else ""
        session = Session(
            _credentials(config, secrets),
            context_name=context_name,
            timeout_s=config.request_timeout_s,
            retries=config.retries,
        )
        await session.open(*self._target.host_and_port)
        self._session, self._secrets = session, secrets
        return session

    def _set_down(self, down: DownReason | None, problem: str) -> None:
        """Logs changes, not every collection."""
        if down is self._down:
            return
        self._down = down
        bound = log.bind(job=self._config.job_name, target=self.name, device=self._target.device)
        if down is None:
            bound.info("target is up")
        else:
            bound.info("target is down", reason=str(down), error=problem)


def _credentials(config: Config, secrets: Sequence[str]) -> Credentials:
    """Unavailable for a password that no agent accepts."""
    if config.user is None:
        return by_community(secrets[0])
    for secret in secrets:
        if len(secret) < _PASSWORD_CHARS_MIN:
            raise Unavailable(f"a password of the user has less than {_PASSWORD_CHARS_MIN} characters")
    return by_user(config.user, secrets[0], secrets[1] if len(secrets) > 1 else None)


def wanted_tables(config: Config) -> tuple[Table, ...]:
    """ConfigError for a table that is not known."""
    known = {table.name: table for table in tables()}
    for name in config.tables:
        if name not in known:
            raise ConfigError(f"{_SECTION}: {config.job_name}: tables: {name}: expected some of {', '.join(known)}")
    return tuple(known[name] for name in config.tables) or tables()


def snmp_collectors(configs: Iterable[Config], context: CollectorContext) -> list[SnmpCollector]:
    """One a device. ConfigError for secrets that cannot be read."""
    for config in configs:
        for key, path in config.secret_files.items():
            if path is not None and not path.is_file():
                raise ConfigError(f"{_SECTION}: {config.job_name}: {key}: {path} is not a readable file")
    return [SnmpCollector(config, target, context) for config in configs for target in config.targets]
