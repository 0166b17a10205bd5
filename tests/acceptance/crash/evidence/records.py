"""A record as any reader of the bus gets it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RawRecord:
    """value: None for a tombstone."""

    topic: str
    partition: int
    key: bytes
    value: bytes | None
    headers: dict[str, bytes] = field(default_factory=dict)
