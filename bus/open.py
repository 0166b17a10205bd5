"""From settings to a bus."""

from bus.base import Bus
from bus.config import BusConfig


def open_bus(config: BusConfig) -> Bus:
    """The engine that ``config`` names; ``start`` it to use it."""
    if config.kind == "kafka":
        from bus.kafka.bus import KafkaBus

        return KafkaBus(config.kafka)
    from bus.embedded.bus import EmbeddedBus

    return EmbeddedBus(config.embedded)
