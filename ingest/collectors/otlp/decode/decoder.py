"""Requests in, batches of canonical samples out: no clock, no I/O. Known series never reach Python."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from common.errors import BadInput
from common.units import NS_PER_S
from common.wire.hashed_bytes import UNKNOWN
from common.wire.span_table import SpanTable
from ingest.collectors import pushed_series
from ingest.collectors.admitted import Admitted
from ingest.collectors.otlp.decode import scan
from ingest.collectors.otlp.decode.attributes import metric_name, point_labels, resource_labels
from ingest.collectors.otlp.decode.scan import PARTS, Part, Points, Stop, scan_request
from ingest.collectors.pushed_layout import PushedLayouts
from ingest.collectors.pushed_series import PushedSeries

_COLUMNS = 4096
_END, _UNUSUAL, _FULL, _ = map(int, Stop)  # plain integers: looking up a member of an enumeration costs a microsecond
_FORGET_NS = 60 * NS_PER_S  # between two looks whether silent series have to make room


@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of a request. points: its data points; a histogram's is two samples, its count and its sum.

    changes: samples that are changes since the last report (delta temporality), dropped as ``bad_format``.
    """

    admitted: Admitted
    points: int
    changes: int


class Decoder:
    """What is known of the series of all senders. Used by one thread at a time."""

    def __init__(self, series: PushedSeries) -> None:
        self._pushed = series
        self._columns = Points.allocate(_COLUMNS)
        self._tally = np.zeros(3, np.int64)
        self._roots: dict[str, int] = {}  # by sender: the parent of its resources
        self._resources, self._metrics, self._series = SpanTable(), SpanTable(), SpanTable()
        self._labels: list[Mapping[str, str] | None] = []  # of a resource, None when it is none
        self._layouts = PushedLayouts()
        self._forgot_ns = 0

    def decode(self, data: bytes, sender: str, now_ns: int) -> Decoded:
        """A serialised ExportMetricsServiceRequest of a sender that came at ``now_ns``. BadInput when it is none."""
        if now_ns - self._forgot_ns >= _FORGET_NS:
            self._forgot_ns = now_ns
            moved = self._pushed.forget_silent(now_ns)
            if moved is not None:
                self._keep(moved)
        root = self._roots.setdefault(sender, len(self._roots))
        layout = self._layouts.find(root, data)
        if layout is not None:
            known = self._pushed.admit_known(np.frombuffer(data, np.uint8), layout, now_ns)
            if known is not None:
                self._layouts.came_again(root)
                return Decoded(known, layout.samples, 0)
        return self._decode_new(data, sender, root, now_ns)

    def _decode_new(self, data: bytes, sender: str, root: int, now_ns: int) -> Decoded:
        """A request in another layout than the ones before."""
        n, why = self._scan(data, root)
        if why == _UNUSUAL:
            data = _rewritten(data)
            n, why = self._scan(data, root)
        if why != _END:
            raise BadInput("expected an ExportMetricsServiceRequest", "bad_format")
        slots = self._columns.slots[:n]
        unknown, points, changes = self._tally.tolist()
        for row in np.flatnonzero(slots == UNKNOWN).tolist() if unknown else ():
            slots[row] = self._new(data, row, root, sender)
        wide = slots.astype(np.int64)
        words = self._columns.words[:, :n]
        if not changes and min(wide.min(initial=0), words.min(initial=0)) >= 0:
            self._layouts.learn(root, data, np.concatenate((wide[np.newaxis], words)))
        admitted = self._pushed.admit(wide, self._columns.times[:n], self._columns.values[:n], now_ns)
        return Decoded(admitted, points, changes)

    def _keep(self, moved: NDArray[np.int64]) -> None:
        """Forgets series. moved: int64[slots], the new slot of each, -1 for one that is gone.

        Resources and metrics without a series go with them.
        """
        self._layouts.clear()
        kept = np.flatnonzero(moved >= 0).tolist()
        senders, labels = list(self._roots), self._labels
        resources, metrics, series = self._resources, self._metrics, self._series
        self._resources, self._metrics, self._series = SpanTable(), SpanTable(), SpanTable()
        self._roots, self._labels = {}, []
        for slot in kept:
            attributes, metric_part = series.key(slot)
            metric, part = divmod(metric_part, PARTS)
            name, resource = metrics.key(metric)
            known, root = resources.key(resource)
            new_root = self._roots.setdefault(senders[root], len(self._roots))
            new_resource = self._resources.put(known, new_root)
            if new_resource == len(self._labels):
                self._labels.append(labels[resource])
            self._series.add(attributes, self._metrics.put(name, new_resource) * PARTS + part)

    def _scan(self, data: bytes, root: int) -> tuple[int, int]:
        buf = np.frombuffer(data, np.uint8)
        tables = (*self._resources.index,), (*self._metrics.index,), (*self._series.index,)
        while True:
            n, why = scan_request(buf, root, *tables, (*self._columns,), self._tally)
            if why != _FULL:
                return n, why
            self._columns = Points.allocate(2 * self._columns.slots.size)

    def _new(self, data: bytes, row: int, root: int, sender: str) -> int:
        """The slot of a series that the scan did not find; an earlier row may have brought it."""
        resource_at, resource_n, name_at, name_n, at, size = self._columns.offsets[row].tolist()
        part = int(self._columns.parts[row])
        name, attributes = data[name_at : name_at + name_n], data[at : at + size]
        if self._pushed.is_full:  # and resources and names that bring no series are not kept
            resource = self._resources.get(data[resource_at : resource_at + resource_n], root)
            metric = self._metrics.get(name, resource)
            return self._series.get(attributes, metric * PARTS + part if metric >= 0 else UNKNOWN)
        resource = self._resource(data[resource_at : resource_at + resource_n], root)
        metric = self._metrics.put(name, resource)
        known = self._series.get(attributes, metric * PARTS + part)
        if known != UNKNOWN:
            return known
        slot = self._slot(self._labels[resource], name, part, attributes, sender)
        added = self._series.add(attributes, metric * PARTS + part)
        assert added == slot, "both count series in the same order"
        return slot

    def _resource(self, data: bytes, root: int) -> int:
        slot = self._resources.put(data, root)
        if slot == len(self._labels):
            try:
                self._labels.append(resource_labels(data))
            except DecodeError:
                self._labels.append(None)
        return slot

    def _slot(self, labels: Mapping[str, str] | None, name: bytes, part: int, attributes: bytes, sender: str) -> int:
        if labels is None or part == Part.CHANGE:
            return self._pushed.add_bad()
        try:
            found = {**labels, **point_labels(attributes), "sender": sender}  # nobody can say to be another sender
            return self._pushed.add(metric_name(name, part), found)
        except DecodeError:
            return self._pushed.add_bad()


def _rewritten(data: bytes) -> bytes:
    """The same request in the order in which protobuf writes fields."""
    try:
        return bytes(ExportMetricsServiceRequest.FromString(data).SerializeToString())
    except DecodeError as error:
        raise BadInput(f"expected an ExportMetricsServiceRequest: {error}", "bad_format") from error


def warm_up() -> None:
    """Compiles what decodes, or loads it from the disk cache: seconds on a fresh machine, so not on the event loop."""
    scan.warm_up()
    pushed_series.warm_up()
