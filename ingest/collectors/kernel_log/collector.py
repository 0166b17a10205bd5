"""Kernel logs in, the XIDs of each GPU and the SXids of each NVSwitch out: one batch of each host each interval."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import structlog

from common.units import to_ns
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.canonical_samples import SourceSample, TargetSamples, Values
from ingest.collectors.event_time import FUTURE_NS
from ingest.collectors.kernel_log import metrics
from ingest.collectors.kernel_log.config import Config, Format
from ingest.collectors.kernel_log.log_file import LogFile
from ingest.collectors.kernel_log.records import (
    GpuName,
    Line,
    Parse,
    Record,
    Sxid,
    Unreadable,
    Xid,
    dmesg,
    driver_listing,
    driver_record,
    fabric_manager,
    journal_json,
    kmsg,
    syslog,
)
from ingest.collectors.kernel_log.sxids import HostSxids
from ingest.collectors.kernel_log.xids import HostXids
from ingest.ledger import DropReason
from telemetry.samples import DownReason, SampleBatch

_SYSTEM = "kernel_log"
_LISTING_BYTES_MAX = 4096

log = structlog.get_logger("ingest")


_Found = list[tuple[Line, Record]]
_PARSERS: Mapping[Format, Parse] = {
    Format.SYSLOG: syslog,
    Format.JOURNAL_JSON: journal_json,
    Format.DMESG: dmesg,
    Format.FABRIC_MANAGER: fabric_manager,
}


@dataclass(frozen=True, slots=True)
class _Host:
    target: TargetSamples
    xids: HostXids
    sxids: HostSxids


class KernelLog:
    """One log. boot_ns: when this machine booted, from which /dev/kmsg counts."""

    def __init__(self, config: Config, context: CollectorContext, boot_ns: int) -> None:
        self._config, self._context = config, context
        self._file = LogFile(config.file, from_start=config.format is Format.KMSG)
        self._parse = _PARSERS.get(config.format) or kmsg(boot_ns)
        self._labels = {"source": str(config.format)} if config.format is Format.FABRIC_MANAGER else {}
        self._started_ns = context.clock()
        self._hosts: dict[str, _Host] = {}
        self._problem = ""
        self._number = -1
        if config.device:
            self._hosts[config.device] = self._host(config.device)

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._config.device or self._config.file}"

    async def run(self, emit: Emit) -> NoReturn:
        """Reads until cancelled."""
        try:
            while True:
                for batch in await self.collect(self._context.clock()):
                    emit(batch)
                await asyncio.sleep(self._config.interval_s)
        finally:
            self._file.close()

    async def collect(self, now_ns: int) -> Sequence[SampleBatch]:
        """One batch of each host that is known, with what the log says since the last time."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._context.workers, self._read)
        except OSError as error:
            self._report(f"{self._config.file}: {error.strerror}")
            return [host.target.down(DownReason.REFUSED, now_ns, 0.0) for host in self._hosts.values()]
        self._report("")
        for line, record in found:
            self._take(line, record, now_ns)
        batches = []
        # That the log is read is a sample too: most hosts have no XID for months.
        readable = SourceSample("readable", self._labels, 1.0)
        for host in self._hosts.values():
            samples = host.target.read(Values.of([readable, *host.xids.reading(now_ns), *host.sxids.reading()]))
            batches.append(host.target.batch(samples, now_ns, 0.0, self._context.ledger))
        return batches

    def _read(self) -> _Found:
        """What the driver says, in the lines that are there now."""
        found: _Found = []
        too_long = self._file.too_long
        lost = 0
        for text in self._file.read(self._config.read_bytes_max):
            if (line := self._parse(text)) is None:
                continue
            if line.number >= 0:
                lost += max(0, line.number - self._number - 1) if self._number >= 0 else 0
                self._number = line.number
            if (record := driver_record(line.text)) is not None:
                found.append((line, record))
        metrics.RECORDS_LOST.labels(self._config.job_name).inc(lost + self._file.too_long - too_long)
        return found

    def _take(self, line: Line, record: Record, now_ns: int) -> None:
        device = self._config.device or line.host
        if isinstance(record, GpuName):
            if device and (host := self._of(device)) is not None:
                host.xids.name(record.address, record.uuid)
            return
        (metrics.SXIDS if isinstance(record, Sxid) else metrics.XIDS).labels(self._config.job_name).inc()
        at_ns = line.at_ns or now_ns
        if isinstance(record, Unreadable) or not device:
            self._drop(DropReason.BAD_FORMAT)
        elif at_ns > now_ns + FUTURE_NS:
            self._drop(DropReason.EVENT_TIME)
        else:
            host = self._of(device)
            if host is None or not _add(host, record, at_ns, before_start=at_ns < self._started_ns):
                self._drop(DropReason.QUOTA)

    def _of(self, device: str) -> _Host | None:
        host = self._hosts.get(device)
        if host is None and len(self._hosts) < self._config.hosts_max:
            host = self._hosts[device] = self._host(device)
        return host

    def _host(self, device: str) -> _Host:
        uuids = self._config.gpus
        if self._config.format is Format.KMSG:
            uuids = self._listing() | uuids
        target = TargetSamples(self._target_name(device), device, _SYSTEM, self._started_ns)
        return _Host(target, HostXids(uuids, to_ns(self._config.hold_s)), HostSxids(self._labels))

    def _target_name(self, device: str) -> str:
        return f"{self._config.job_name}/{device}"

    def _listing(self) -> dict[str, str]:
        """The GPUs of this host; none where the driver is not loaded or its folder not mounted."""
        texts = []
        for file in sorted(self._config.driver_folder.glob("*/information")):
            try:
                with file.open(errors="replace") as opened:
                    texts.append(opened.read(_LISTING_BYTES_MAX))
            except OSError as error:
                log.warning("driver's list of GPUs is not readable", target=self.name, error=str(error))
        return driver_listing(texts)

    def _drop(self, reason: DropReason) -> None:
        self._context.ledger.received(1, "")
        self._context.ledger.dropped(reason, 1, "")

    def _report(self, problem: str) -> None:
        """Logged when it is another one than before."""
        if problem and problem != self._problem:
            log.warning("kernel log cannot be read", target=self.name, error=problem)
        self._problem = problem


def _add(host: _Host, record: Xid | Sxid, at_ns: int, *, before_start: bool) -> bool:
    """Whether there was room for it."""
    if isinstance(record, Sxid):
        return host.sxids.add(record, before_start=before_start)
    return host.xids.add(record, at_ns, before_start=before_start)


def kernel_logs(configs: Sequence[Config], context: CollectorContext, uptime_ns: int) -> list[KernelLog]:
    """One a log. uptime_ns: since this machine booted."""
    return [KernelLog(config, context, context.clock() - uptime_ns) for config in configs]
