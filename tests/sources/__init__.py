"""How much of a real payload is read: the pages that a system's file of the catalogue lists, through its collector."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from google.protobuf import json_format

from ingest.collectors.canonical_samples import Values
from ingest.collectors.exposition.decode.line import parse_line
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import Elements, parse_path
from ingest.collectors.gnmi.paths.naming import Named, Naming
from ingest.collectors.host_counters.parse import add_device, add_port
from ingest.collectors.infiniband.perfquery import parse_counters
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.influx_line import LineReader
from ingest.collectors.mmpmon.parse import parse_answers, values_of
from ingest.collectors.nccl_inspector.operation import Operation
from ingest.collectors.nccl_inspector.records import USED, Context, Found, read_lines
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_tests.folder import parse_file
from ingest.collectors.nccl_tests.result import Result
from ingest.collectors.nvidia_smi.parse import parse_gpus
from ingest.collectors.nvme.parse import add_drive
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.redfish.parse import parse_document, samples_of
from telemetry.catalogue import Source, origins_of
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES

_NOW_NS = 1_760_000_000_000_000_000
_PLACE = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class Reading:
    """series: of a page. mapped: those that become a series of the catalogue. names: of the system that it holds.

    left_out: series that the catalogue leaves out for a reason.
    """

    series: int
    mapped: int
    names: frozenset[str] = field(default=frozenset())
    left_out: int = 0


def read_page(system: Source, page: str) -> Reading:
    """What is read of a page, ``system.pages`` says where it is from."""
    path = SAMPLES / page
    if path.suffix == ".prom":
        return _exposition(system, path)
    if path.name == "inspector_records.json":
        return _inspector(system, path)
    if system.formats == ("nccl_tests",):
        tests = parse_file(path.read_bytes(), 1000, path.name)
        found = [one for test in tests if isinstance(test, Result) for one in test.samples({})]
        return _mapped(system, [(one.name, one.labels) for one in found])
    if system.formats == ("mmpmon",):
        answers, _ = parse_answers(path.read_bytes())
        values = values_of(answers, "node1", {})
        return _mapped(system, [(name, dict(labels)) for name, labels in values.names])
    if system.formats == ("nvme",):
        values = Values()
        add_drive(values, "nvme0", path.read_bytes())
        return _mapped(system, [(name, dict(labels)) for name, labels in values.names])
    if path.suffix == ".txt":
        readings, _ = parse_counters(path.read_bytes())
        return _mapped(system, [(each.name, {"node": str(each.lid), "port": str(each.port)}) for each in readings])
    if path.suffix == ".tsv":
        return _mapped(system, _files(path))
    if path.suffix == ".influx":
        return _influx(system, path)
    if path.suffix == ".xml":
        return _mapped(system, [(one.name, one.labels) for one in parse_gpus(path.read_bytes())])
    if system.formats == ("nccl_ras",):
        report = parse_json(path.read_bytes(), Limits())
        return _mapped(system, [(one.name, one.labels) for one in report.samples("", {})])
    return _redfish(system, path) if system.formats == ("redfish",) else _gnmi(system, path, system.pages[page])


def _exposition(system: Source, page: Path) -> Reading:
    lines = [parse_line(line, number, openmetrics=False) for number, line in enumerate(page.read_bytes().split(b"\n"))]
    return _mapped(system, [(line.name, line.labels) for line in lines if line is not None])


def _inspector(system: Source, page: Path) -> Reading:
    """Operations in the order of their records, and the fields that become none of their series."""
    operations: dict[Operation, int] = {}
    found = Found()
    lines = b"".join(orjson.dumps(record) + b"\n" for record in orjson.loads(page.read_bytes()))
    read_lines(lines, Context("7"), lambda one: operations.setdefault(one, len(operations)), found)
    series: list[tuple[str, dict[str, str]]] = [
        (f"{one.kind}_{name}", one.labels()) for one in operations for name in ("busbw_gbs", "exec_time_us")
    ]
    others = sorted({name for names in found.shapes for name in names} - USED)
    return _mapped(system, [*series, *((name, {}) for name in others)])


def _files(page: Path) -> list[tuple[str, dict[str, str]]]:
    """Files of sysfs below their device, a path and a text in each line."""
    values = Values()
    lines = [line.split("\t", 1) for line in page.read_text().splitlines()]
    for path, text in lines:
        device, *below = path.split("/")
        if below[0] == "ports":
            add_port(values, device, below[1], [("/".join(below[2:]), text)])
        elif below == ["fw_ver"]:
            add_device(values, device, {"fw_ver": text, "hca_type": dict(lines)[f"{device}/hca_type"]})
        else:
            values.add(below[0], 1.0, device=device)
    return [(name, dict(labels)) for name, labels in values.names]


def _redfish(system: Source, page: Path) -> Reading:
    kind = system.pages[str(page.relative_to(SAMPLES))]
    labels = {"chassis": "1", "role": "host", "supply": "1"}
    found = samples_of(kind, parse_document(page.read_bytes(), page.name), labels)
    return _mapped(system, [(one.name, one.labels) for one in found])


class _Shown(PushedSeries):
    """Remembers which series it was shown."""

    def __init__(self, system: Source) -> None:
        rule = PushedRule(source=system.name, device_from=("host",))
        super().__init__("sample", (rule,), _NOW_NS, series_max=100_000, targets_max=1)
        self.found: list[tuple[str, Mapping[str, str]]] = []

    def add(self, metric: str, labels: Mapping[str, str]) -> int:
        self.found.append((metric, labels))
        return super().add(metric, labels)


def _influx(system: Source, page: Path) -> Reading:
    shown = _Shown(system)
    LineReader(shown).read(page.read_bytes(), Lines())
    return _mapped(system, shown.found)


def _mapped(system: Source, found: Sequence[tuple[str, Mapping[str, str]]]) -> Reading:
    """What is read of series by name and labels."""
    mapper = Mapper(system, {"device": "node1"}, origins_of(system.name))
    unread = [name for name, labels in found if not mapper.map(name, labels)]
    left_out = sum(name not in mapper.unmapped for name in unread)
    sent = {name for name, _ in found}
    names = {origin.name for _, origin in origins_of(system.name) if any(map(_pattern(origin.name).fullmatch, sent))}
    return Reading(len(found), len(found) - len(unread), frozenset(names), left_out)


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile("[0-9]+".join(map(re.escape, _PLACE.split(name))))


class _Noting(Naming):
    """Remembers which names it was asked for."""

    def __init__(self, *sources: str) -> None:
        super().__init__(sources)
        self.used: set[tuple[str, str]] = set()

    def name(self, elements: Elements) -> Named | None:
        named = super().name(elements)
        if named is not None:
            self.used.add((named.origin.source, named.origin.name))
        return named


def _gnmi(system: Source, page: Path, path: str) -> Reading:
    naming = _Noting(*dict.fromkeys((system.name, "openconfig")))
    decoder = Decoder("sample", "switch1", naming)
    for message in _messages(page, path):
        decoder.decode([message.SerializeToString()], message.update.timestamp or _NOW_NS)
    mapped = len(decoder.table)
    names = frozenset(name for source, name in naming.used if source == system.name)
    left_out = decoder.unmapped.count_left_out
    return Reading(mapped + decoder.unmapped.count + left_out, mapped, names, left_out)


def _messages(page: Path, path: str) -> Iterator[gnmi_pb2.SubscribeResponse]:
    """Recorded messages, or one with the document that a switch answers at a path, after the ports' names."""
    document = json.loads(page.read_text())
    if not path:
        yield from (json_format.ParseDict(entry, gnmi_pb2.SubscribeResponse()) for entry in document)
        return
    aliases = SAMPLES / "sonic" / "gnmi" / "COUNTERS_PORT_ALIAS_MAP.json"
    for at, body in (("PORT", aliases.read_text()), (path, json.dumps(document))):
        message = gnmi_pb2.SubscribeResponse()
        message.update.timestamp = _NOW_NS
        message.update.prefix.target = "COUNTERS_DB"
        message.update.update.add(path=parse_path(at)).val.json_ietf_val = body.encode()
        yield message
