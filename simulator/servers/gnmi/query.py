"""The interface between a gNMI server and the data of a switch: a path becomes a query over snapshots."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2


class Query(Protocol):
    """One path, resolved on one switch, for one stream: it keeps what it sent last."""

    counts: bool
    """Whether the path holds counters: what TARGET_DEFINED samples, and what it sends on change otherwise."""

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        """All values, as encoded SubscribeResponses stamped with ``now_ns``."""
        ...

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        """Values that differ from the last ``full`` or ``changes``, and deletes of entries that are gone."""
        ...


class Absent:
    """A path at which the switch has no data: the stream stays open without updates for it (gNMI 3.5.1.3)."""

    counts = False

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        return ()

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        return ()


class Tree(Protocol):
    """The data of one switch in its vendor's form."""

    encodings: Sequence[int]
    models: Sequence[gnmi_pb2.ModelData]

    def query(self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int) -> Query:
        """The path's query; ``Absent`` when the switch has nothing there, which is no error for Subscribe."""
        ...

    def get(
        self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int, snapshot: Snapshot, now_ns: int
    ) -> gnmi_pb2.Notification | None:
        """The path's value for Get; None when the switch has nothing there."""
        ...
