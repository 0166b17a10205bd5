"""The collector of the inventory file, which is parsed when it changes."""

import time
from collections.abc import Mapping

import numpy as np
import structlog

from common.errors import ConfigError
from ingest.admission.line import Priority
from ingest.collectors.base import CollectorOutput
from ingest.collectors.inventory.config import Config
from ingest.collectors.inventory.parse import facts_between, parse_inventory
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Entity

log = structlog.get_logger("ingest")


class InventoryCollector:
    """A file with an error changes nothing: the last valid content is kept, and the target is down meanwhile."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._table = SeriesTable(self.name, self.name, ())
        self._entities: Mapping[str, Entity] = {}
        self._text: str | None = None
        self._epoch_ns, self._seq = time.time_ns(), 0

    @property
    def name(self) -> str:
        return "inventory"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.HIGH  # little work, and all else is understood by it

    def load(self) -> Mapping[str, Entity]:
        """The entities of the file as it is now. ConfigError with file, line and column."""
        return parse_inventory(self._read(), str(self._config.file))

    async def collect(self, now_ns: int) -> CollectorOutput:
        """What changed in the file since the last collection."""
        self._seq += 1
        try:
            text = self._read()
            if text == self._text:
                return []
            entities = parse_inventory(text, str(self._config.file))
        except ConfigError as error:
            log.error("inventory has an error, its last content is kept", target=self.name, error=str(error))
            collection = Collection(self._epoch_ns, self._seq - 1, now_ns, 0.0, DownReason.BAD_FORMAT)
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
            return SampleBatch(self._table, collection, *none)
        facts = facts_between(self._entities, entities, now_ns)
        self._entities, self._text = entities, text
        return facts

    async def stop(self) -> None:
        """Nothing is open between collections."""

    def _read(self) -> str:
        file, bytes_max = self._config.file, self._config.file_bytes_max
        try:
            with file.open("rb") as opened:
                data = opened.read(bytes_max + 1)
            if len(data) > bytes_max:
                raise ConfigError(f"{file}: more than {bytes_max} bytes")
            return data.decode()
        except OSError as error:
            raise ConfigError(f"{file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file}: byte {error.start} is not UTF-8") from error


def inventory_collectors(config: Config | None) -> list[InventoryCollector]:
    """The collector of the file, if there is one. ConfigError when the file cannot be used: better now than later."""
    if config is None:
        return []
    collector = InventoryCollector(config)
    collector.load()
    return [collector]
