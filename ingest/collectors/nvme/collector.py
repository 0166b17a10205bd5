"""The collector of one host's NVMe drives."""

import asyncio
import re
from collections.abc import Iterable

import structlog

from common.errors import BadInput
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import Command, NoAnswer
from ingest.collectors.nvme.config import Config
from ingest.collectors.nvme.parse import add_drive
from ingest.collectors.value_collector import ValueCollector
from telemetry.samples import DownReason

_DRIVE = re.compile(r"nvme[0-9]{1,8}")

log = structlog.get_logger("ingest")


class NvmeCollector(ValueCollector):
    """Asks the drives one after the other. One that fails or hangs costs itself alone, unless all do."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        super().__init__(f"{config.name}/{config.device}", config.device, config.interval_s, "nvme", context)
        self._config = config
        self._commands: dict[str, Command] = {}
        self._silent: dict[str, str] = {}

    async def _values(self) -> Values:
        values, silent = Values(), dict[str, str]()
        drives = await asyncio.to_thread(self._drives)
        # Each its own: a program that waits for a broken drive may stay, and none is started beside it.
        self._commands = {drive: self._commands.get(drive) or self._command() for drive in drives}
        for drive, command in self._commands.items():
            try:
                async with asyncio.timeout(self._config.timeout_s / len(drives)):
                    body = await command.read(f"/dev/{drive}")
                add_drive(values, drive, body)
            except (NoAnswer, BadInput, TimeoutError) as error:
                if len(silent) == len(drives) - 1:  # none has answered, and this is why
                    raise
                silent[drive] = str(error) or "no answer in time"
        self._report(silent)
        values.add("drives", float(len(drives) - len(silent)), kind="online")
        values.add("drives", float(len(silent)), kind="offline")
        return values

    def _command(self) -> Command:
        return Command(self._config.command, self._config.body_bytes_max)

    def _drives(self) -> list[str]:
        """NoAnswer where there are none: a host without drives needs no such source."""
        folder = self._config.drives_folder
        try:
            names = [path.name for path in folder.iterdir() if _DRIVE.fullmatch(path.name)]
        except OSError as error:
            raise NoAnswer(DownReason.REFUSED, f"{folder}: {error.strerror}") from error
        if not names:
            raise NoAnswer(DownReason.REFUSED, f"{folder}: no drives")
        return sorted(names, key=lambda name: int(name.removeprefix("nvme")))[: self._config.drives_max]

    def _report(self, silent: dict[str, str]) -> None:
        """Logs changes, not every collection."""
        for drive in silent.keys() - self._silent.keys():
            log.warning("drive does not answer", target=self.name, drive=drive, error=silent[drive][:200])
        self._silent = silent


def nvme_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NvmeCollector]:
    """One a host."""
    return [NvmeCollector(config, context) for config in configs]
