"""What a subscription is compiled to: something that reads a snapshot and gives notifications."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from simulator.serve.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2


class Query(Protocol):
    """One path, resolved on one switch. Not shared between streams: it remembers what it sent."""

    counts: bool
    """Whether the path holds counters: what TARGET_DEFINED samples, and what it sends on change otherwise."""

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        """All values, as encoded SubscribeResponses stamped with ``now_ns``."""
        ...

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        """Values that differ from the last ``full`` or ``changes``, and deletes of what is gone."""
        ...


class Tree(Protocol):
    """The data of one switch in its vendor's form."""

    encodings: Sequence[int]
    models: Sequence[gnmi_pb2.ModelData]

    def query(self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int) -> Query | None:
        """The path's query; None when the switch has nothing there."""
        ...

    def get(
        self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int, snapshot: Snapshot, now_ns: int
    ) -> gnmi_pb2.Notification | None:
        """The path's value for Get; None when the switch has nothing there."""
        ...
