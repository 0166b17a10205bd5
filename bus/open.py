"""From settings to a bus."""

import os

from bus.base import Bus
from bus.config import BusConfig
from common.errors import ConfigError

_SQLITE = b"SQLite format 3\x00"  # what each of its files begins with: https://www.sqlite.org/fileformat.html


def open_bus(config: BusConfig) -> Bus:
    """The engine that ``config`` names; ``start`` it to use it."""
    if config.kind == "kafka":
        from bus.kafka.bus import KafkaBus

        return KafkaBus(config.kafka)
    from bus.embedded.bus import EmbeddedBus

    return EmbeddedBus(config.embedded)


def require_place(config: BusConfig) -> None:
    """ConfigError where the embedded bus can have no file; makes its folder. A Kafka that is away may come back."""
    if config.kind == "kafka":
        return
    path = config.embedded.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        if not os.access(path.parent if new else path, os.R_OK | os.W_OK):
            raise PermissionError(0, "may not be read and written")
        if new:
            return
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError as error:
        raise ConfigError(f"bus.embedded.path: {path}: {error.strerror}") from error
    if start and start != _SQLITE:
        raise ConfigError(f"bus.embedded.path: {path}: is another kind of file, and left alone")
