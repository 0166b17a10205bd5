"""How the catalogue is read, and the document that is generated from it."""

import re
from pathlib import Path

import pytest

import ingest.collectors
from telemetry.catalogue import Kind, Metric, Origin, metrics, origins_of, source, sources
from telemetry.catalogue.__main__ import document
from telemetry.catalogue.reading import names, read_metrics, read_source

COLLECTORS = Path(ingest.collectors.__path__[0])
GAUGE = "m: {kind: gauge, unit: none, labels: [device], help: For a test.}"


def test_an_entry_with_defaults(tmp_path: Path) -> None:
    (tmp_path / "fabric.yaml").write_text(GAUGE)
    found = read_metrics(tmp_path)["m"]
    assert found == Metric("m", Kind.GAUGE, "none", ("device",), "For a test.")
    assert (found.width, found.saturates, found.refresh_s, found.minimum) == (64, 0, 0.0, None)


def test_a_system_s_file_is_its_rules_and_its_names() -> None:
    found = source("rdma_exporter")
    assert (found.name, found.formats) == ("rdma_exporter", ("exposition",))
    assert found.labels == {"port": ("{device}/{further}", "{device}")}
    assert found.metrics["ib_port_receive_bytes_total"] == (
        Origin("rdma_exporter", "rdma_port_rcv_data_total", scale=4),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GAUGE.replace("gauge", "histogram"), "{}: m.kind: "),
        (GAUGE.replace("unit", "colour"), "{}: m.unit: "),
        (GAUGE.replace("[device]", "device"), "{}: m.labels: "),
        (GAUGE.replace("}", ", origins: []}"), "{}: m.origins: "),
        (f"{GAUGE}\n{GAUGE}", "{}: line 1: m stands twice"),
        ("m: gauge", "{}: m: expected keys with values, not 'gauge'"),
        ("- m", "{}: expected keys with values, not ['m']"),
        ("m: {kind: gauge", "{}: while parsing a flow mapping"),
    ],
)
def test_a_wrong_metric_is_refused_with_its_file_and_key(tmp_path: Path, text: str, expected: str) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "fabric.yaml").write_text(text)
    with pytest.raises(ValueError, match="^" + re.escape(expected.format("metrics/fabric.yaml"))):
        read_metrics(folder)


def test_one_metric_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("fabric.yaml", "gpu.yaml"):
        (tmp_path / name).write_text(GAUGE)
    with pytest.raises(ValueError, match=r"/gpu\.yaml: m: the metric stands twice in the catalogue$"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("formats: [gnmi]", "{}: help: "),
        ("help: h\nformats: smoke", "{}: formats: "),
        ("help: h\nformats: [gnmi]\nsentinel: []", "{}: sentinel: "),
        ("help: h\nformats: [gnmi]\nmetrics: {n: []}", "{}: metrics: n: expected a metric of the catalogue"),
        ("help: h\nformats: [gnmi]\nmetrics: {m: x}", "{}: metrics: m: expected a list of names"),
        ("help: h\nformats: [gnmi]\nmetrics: {m: [x]}", "{}: m: expected keys with values, not 'x'"),
        ("help: h\nformats: [gnmi]\nmetrics: {m: [{scale: 2}]}", "{}: metrics.m.0.name: "),
        ("help: h\nformats: [gnmi]\nmetrics: {m: [{name: x, scales: 2}]}", "{}: metrics.m.0.scales: "),
        ("help: h\nignored: [{names: [x]}]", "{}: ignored.0.why: "),
        ("help: h\nignored: [{names: x, why: y}]", "{}: ignored.0.names: "),
        ("help: h\nformats: [gnmi]\nmetrics:\n  m: []\n  m: []", "{}: line 4: m stands twice"),
    ],
)
def test_a_wrong_system_is_refused_with_its_file_and_key(tmp_path: Path, text: str, expected: str) -> None:
    folder = tmp_path / "systems"
    folder.mkdir()
    (folder / "sonic.yaml").write_text(text)
    metrics = {"m": Metric("m", Kind.GAUGE, "none", ("device",), "For a test.")}
    with pytest.raises(ValueError, match="^" + re.escape(expected.format("systems/sonic.yaml"))):
        read_source(folder, "sonic", metrics)


def test_files_that_are_no_yaml_are_none_of_the_catalogue(tmp_path: Path) -> None:
    for name in ("sonic.yaml", "arista.yaml", "README.md"):
        (tmp_path / name).touch()
    assert names(tmp_path) == ("arista", "sonic")


def test_origins_of_a_source_are_all_of_its_names_and_no_other_s() -> None:
    found = origins_of("ipmi")
    assert {origin.source for _, origin in found} == {"ipmi"}
    assert len(found) == sum(map(len, source("ipmi").metrics.values()))
    assert all(metric is metrics()[metric.name] for metric, _ in found)
    assert origins_of("of nobody") == origins_of("../systems/ipmi") == []


def test_every_source_has_names_and_a_help() -> None:
    for name, system in sources().items():
        assert system.name == name
        assert system.help
        collected = all((COLLECTORS / each / "collector.py").is_file() for each in system.formats)
        assert (bool(system.formats and origins_of(name)), name) == (collected, name)


def test_the_document_has_one_row_for_each_metric_in_the_catalogue_s_order() -> None:
    rows = [line for line in document().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(metrics())
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)
