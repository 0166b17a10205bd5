"""From settings to a bus."""

from telemetry.bus.base import Bus
from telemetry.bus.config import BusConfig


def open_bus(config: BusConfig) -> Bus:
    """The engine that ``config`` names; ``start`` it to use it."""
    if config.kind == "kafka":
        from telemetry.bus.kafka import KafkaBus  # only who uses Kafka pays for its import

        return KafkaBus(config.kafka)
    from telemetry.bus.embedded import EmbeddedBus

    return EmbeddedBus(config.embedded)
