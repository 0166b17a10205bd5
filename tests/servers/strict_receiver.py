"""A receiver of remote write that takes the specifications at their word: what a sender MUST and SHOULD do is checked.

Sources: prometheus.io/docs/specs/prw/remote_write_spec and remote_write_spec_2_0. Bodies are read by protobuf's own
classes, from the public message definitions.
"""

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cramjam
import pytest

from tests.servers.webhook import Answer, Request, WebhookServer
from tests.unit.export.prompb import Request as SecondRequest
from tests.unit.export.prompb import WriteRequest

Labels = tuple[tuple[str, str], ...]
STALE = 0x7FF0000000000002
FIRST_TYPE, SECOND_TYPE = "application/x-protobuf", "application/x-protobuf;proto=io.prometheus.write.v2.Request"
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_TYPES_MAX = 7


class StrictReceiver(WebhookServer):
    """speaks: the versions that it knows. With ``ignores_type`` it is one of 1.0 that reads every body as its own, as
    Prometheus 2 does.

    samples: (labels, bits of the value, milliseconds, version) of all that it accepted, in their order.
    problems: what a sender did wrong. metadata: type, help and unit by metric; begins_ms: when counters began, 0 for
    what does not say. refuse: an answer for samples, or None.
    """

    def __init__(self, speaks: Sequence[str] = ("1.0", "2.0"), *, ignores_type: bool = False) -> None:
        super().__init__()
        self.speaks, self.ignores_type = speaks, ignores_type
        self.samples: list[tuple[Labels, int, int, str]] = []
        self.problems: list[str] = []
        self.metadata: dict[str, tuple[int, str, str]] = {}
        self.begins_ms: dict[str, list[int]] = {}
        self.refuse: Callable[[list[tuple[Labels, int, int, str]]], Answer | None] = lambda samples: None
        self._newest: dict[Labels, int] = {}

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if self.script:
            return self.script.popleft()
        version = "2.0" if request.headers.get("content-type") == SECOND_TYPE else "1.0"
        self._check_headers(request, version)
        if version not in self.speaks and not self.ignores_type:
            return Answer(415, body=b"not supported")
        body = bytes(cramjam.snappy.decompress_raw(request.body))
        read = self._second if version == "2.0" and not self.ignores_type else self._first
        samples = read(body)
        refused = self.refuse(samples)
        if refused is not None:
            return refused
        for labels, bits, time_ms, _ in samples:
            self._check(time_ms >= self._newest.get(labels, time_ms), f"{labels}: {time_ms} after a later one")
            self._newest[labels] = time_ms
            self._check(bits == STALE or not math.isnan(_number(bits)), f"{labels}: a NaN that is no stale marker")
        self.samples += samples
        written = (("X-Prometheus-Remote-Write-Samples-Written", str(len(samples))),)
        return Answer(204, written if version == "2.0" and not self.ignores_type else ())

    def _check(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    def _check_headers(self, request: Request, version: str) -> None:
        headers = request.headers
        self._check(request.method == "POST", f"{request.method}: expected POST")
        self._check(headers.get("content-encoding") == "snappy", "Content-Encoding: expected snappy")
        self._check(
            headers.get("content-type") in (FIRST_TYPE, SECOND_TYPE), f"Content-Type {headers.get('content-type')}"
        )
        number = {"1.0": "0.1.0", "2.0": "2.0.0"}[version]
        self._check(headers.get("x-prometheus-remote-write-version") == number, f"version: expected {number}")
        agent = headers.get("user-agent", "")
        self._check(
            re.fullmatch(r"[!-~]+/[0-9][!-~]*", agent) is not None, f"User-Agent {agent!r}: expected name/version"
        )

    def _first(self, body: bytes) -> list[tuple[Labels, int, int, str]]:
        request = WriteRequest.FromString(body)
        for each in request.metadata:
            self.metadata[each.metric_family_name] = (each.type, each.help, each.unit)
        found = []
        for series in request.timeseries:
            labels = tuple((label.name, label.value) for label in series.labels)
            found += self._series(labels, series, "1.0")
        return found

    def _second(self, body: bytes) -> list[tuple[Labels, int, int, str]]:
        request = SecondRequest.FromString(body)
        symbols = list(request.symbols)
        self._check(symbols[:1] == [""], "symbols: expected the empty text first")
        self._check(len(set(symbols)) == len(symbols), "symbols: a text that comes twice")
        used = {0}
        found = []
        for series in request.timeseries:
            refs = list(series.labels_refs)
            self._check(len(refs) % 2 == 0 and bool(refs), "labels_refs: expected pairs")
            self._check(max(refs, default=0) < len(symbols), "labels_refs: expected places in symbols")
            labels = tuple((symbols[name], symbols[value]) for name, value in zip(refs[::2], refs[1::2], strict=True))
            found += self._series(labels, series, "2.0")
            about = series.metadata
            used |= {*refs, about.help_ref, about.unit_ref}
            self._check(0 < about.type <= _TYPES_MAX, f"{labels}: expected a type of the metric")
            self.metadata[dict(labels)["__name__"]] = (about.type, symbols[about.help_ref], symbols[about.unit_ref])
        self._check(len(used) == len(symbols), "symbols: a text that nothing uses")
        return found

    def _series(self, labels: Labels, series: Any, version: str) -> list[tuple[Labels, int, int, str]]:
        names = [name.encode() for name, _ in labels]
        self._check(names == sorted(set(names)), f"{labels}: expected label names in order, each once")
        self._check(all(name and value for name, value in labels), f"{labels}: an empty name or value")
        metric = dict(labels).get("__name__", "")
        self._check(_METRIC.fullmatch(metric) is not None, f"{labels}: expected a metric's name")
        others = [name for name, _ in labels if name != "__name__"]
        self._check(all(_LABEL.fullmatch(name) and not name.startswith("__") for name in others), f"{labels}: names")
        self._check(len(series.samples) > 0, f"{labels}: expected a sample")
        times = [sample.timestamp for sample in series.samples]
        begins_ms = [sample.start_timestamp if version == "2.0" else 0 for sample in series.samples]
        self.begins_ms.setdefault(metric, []).extend(begins_ms)
        self._check(times == sorted(times), f"{labels}: expected samples in the order of time")
        return [(labels, _bits(sample.value), sample.timestamp, version) for sample in series.samples]


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


@pytest.fixture
def strict_receiver() -> Iterator[Callable[..., StrictReceiver]]:
    """Starts one; all stop with the test, and none may have found a problem."""
    started: list[StrictReceiver] = []

    def start(*versions: str, ignores_type: bool = False) -> StrictReceiver:
        server = StrictReceiver(versions or ("1.0", "2.0"), ignores_type=ignores_type)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()
    assert [problem for server in started for problem in server.problems] == []
