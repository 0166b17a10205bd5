"""Clients of a file system that wait for it, by their own times."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from analytics.correlate.correlator import Correlator
from analytics.engine import Engine
from analytics.models.storage_clients import CLIENTS_MEASURED, SERVER_SECONDS
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import Incident, IncidentKind, Severity
from telemetry.samples import SampleBatch
from telemetry.series import parse_series_key, series_key
from telemetry.topology import Device, Mount, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, START_NS, batch, clockwork, run, table

SUM, COUNT = "storage_operation_duration_seconds_sum", "storage_operation_duration_seconds_count"
QUEUE, ERRORS = "storage_queue_seconds_total", "storage_errors_total"
HOME = "nas1:/home"
Latency = Callable[[int, int], tuple[float, float]]  # (client, collection) -> operations a second, seconds each
WAITS_AT = 26


def client(name: str, latency: Callable[[int], tuple[float, float]], collections: int, fs: str) -> list[SampleBatch]:
    """One host: its reads, of which a half of the time is spent in its own queue."""
    labels = {"device": name, "system": "nfs", "fs": fs, "target": "", "side": "client", "op": "read"}
    return _target(name, (SUM, COUNT, QUEUE), labels, latency, collections)


def server(latency: Callable[[int], tuple[float, float]], collections: int) -> list[SampleBatch]:
    labels = {"device": "nas1", "system": "nfs", "fs": HOME, "target": "0", "side": "server", "op": "read"}
    return _target("nas1", (SUM, COUNT), labels, latency, collections)


def _target(
    name: str,
    metrics: Sequence[str],
    labels: Mapping[str, str],
    latency: Callable[[int], tuple[float, float]],
    collections: int,
) -> list[SampleBatch]:
    of = table(name, [series_key(metric, labels) for metric in metrics], "node")
    total, batches = [0.0] * len(metrics), []
    for number in range(collections):
        rate, seconds = latency(number)
        grows = (rate * seconds, rate, rate * seconds / 2)[: len(metrics)]
        total = [before + INTERVAL_S * each for before, each in zip(total, grows, strict=True)]
        batches.append(batch(of, number, total))
    return batches


def findings(
    clients: int, latency: Latency, *more: list[SampleBatch], collections: int = 30, fs: str = HOME
) -> list[Finding]:
    hosts = [
        client(f"node{n}", lambda number, n=n: latency(n, number), collections, fs)  # type: ignore[misc]
        for n in range(clients)
    ]
    rounds = [each for of_round in zip(*hosts, *more, strict=True) for each in of_round]
    outputs = run(Engine(CONFIG), [*rounds, *clockwork(0, range(collections, collections + 2))])
    return [each for each in outputs if isinstance(each, Finding) and each.kind is FindingKind.STORAGE_WAIT]


def about(found: Sequence[Finding]) -> set[str]:
    return {str(each.object) for each in found}


def values(finding: Finding) -> Mapping[str, float]:
    return {parse_series_key(each.series)[0]: each.value for each in finding.evidence}


def one_waits(client: int, number: int) -> tuple[float, float]:
    return 100.0, 0.2 if client == 2 and number >= WAITS_AT else 0.004


def all_wait(client: int, number: int) -> tuple[float, float]:
    return (40.0, 0.2) if number >= WAITS_AT else (100.0, 0.004)


def test_a_client_that_is_slower_than_the_others_waits() -> None:
    found = findings(5, one_waits)
    assert about(found) == {"device:node2"}
    first = found[0].evidence[0]
    assert (first.value, first.normal) == pytest.approx((0.2, 0.004))
    assert first.unit == "seconds an operation"


def test_a_client_of_a_fast_file_system_waits_at_times_that_a_disk_needs() -> None:
    """It has 1.5 operations more in progress than it would have at the pace of the others."""
    found = findings(5, lambda client, number: (200.0, 0.008 if client == 2 and number >= WAITS_AT else 0.0005))
    assert about(found) == {"device:node2"}


def test_all_clients_wait_where_each_is_slower_than_it_was() -> None:
    assert about(findings(3, all_wait)) == {f"device:node{n}" for n in range(3)}


def test_a_client_alone_is_judged_by_its_own_past() -> None:
    assert about(findings(1, all_wait)) == {"device:node0"}


def test_it_says_how_many_were_compared_and_what_part_is_its_own_queue() -> None:
    shown = values(findings(5, one_waits)[0])
    assert shown[CLIENTS_MEASURED] == 5
    assert shown[QUEUE] == pytest.approx(0.1)
    assert SERVER_SECONDS not in shown


def test_it_says_what_the_slowest_target_takes_by_its_own_server() -> None:
    found = findings(4, all_wait, server(lambda number: (400.0, 0.003), 30))
    assert [values(each)[SERVER_SECONDS] for each in found[:4]] == pytest.approx([0.003] * 4)


@pytest.mark.parametrize(
    "latency",
    [
        lambda client, number: (100.0, 0.05 if client == 2 else 0.004),
        lambda client, number: (20.0, 0.015 if client == 2 and number >= WAITS_AT else 0.004),
        lambda client, number: (0.2, 0.2) if client == 2 and number >= WAITS_AT else (100.0, 0.004),
        lambda client, number: (500.0, 0.05) if number % 12 > 9 else (5.0, 0.004),
        lambda client, number: (100.0, 0.2) if client == 2 and 0 <= number - WAITS_AT < 2 else (100.0, 0.004),
        lambda client, number: (
            (100.0, 0.004 if number % 3 else 0.04) if client != 2 or number < WAITS_AT else (99.0, 0.1)
        ),
        lambda client, number: (900.0, 0.05) if client == 2 and number >= WAITS_AT else (100.0, 0.004),
    ],
    ids=[
        "always slower than the others",
        "slower, but hardly anybody waits",
        "hardly anything asked for",
        "checkpoints that slow all",
        "two samples",
        "no more than its times always vary",
        "asked for much more than the others",
    ],
)
def test_what_is_normal_is_no_wait(latency: Latency) -> None:
    assert findings(5, latency) == []


def test_clients_that_finish_little_in_a_checkpoint_wait_however_much_more_than_usual_they_ask_for() -> None:
    """All have had 500 operations a second in checkpoints: what is slow finishes far less than that."""

    def latency(client: int, number: int) -> tuple[float, float]:
        if number % 12 > 7:
            return (60.0, 0.4) if number > WAITS_AT else (500.0, 0.03)
        return 5.0, 0.004

    assert about(findings(4, latency, collections=36)) == {f"device:node{n}" for n in range(4)}


def test_clients_of_different_file_systems_are_not_compared() -> None:
    other = client("slow1", lambda number: (100.0, 0.3), 30, "nas2:/archive")
    assert findings(4, lambda client, number: (100.0, 0.004), other) == []


def test_what_a_server_counts_is_no_client() -> None:
    assert findings(1, lambda client, number: (100.0, 0.004), server(lambda number: (100.0, 0.3), 30)) == []


def timeouts(*counts: float, kind: str = "read_timeout", side: str = "client") -> list[Finding]:
    labels = {"device": "node1", "system": "nfs", "fs": HOME, "target": "", "side": side, "kind": kind}
    of = table("node1", [series_key(ERRORS, labels)], "node")
    batches = [batch(of, number, [count]) for number, count in enumerate(counts)]
    outputs = run(Engine(CONFIG), [*batches, *clockwork(0, range(len(counts), len(counts) + 2))])
    return [each for each in outputs if isinstance(each, Finding) and each.kind is FindingKind.STORAGE_WAIT]


def test_one_major_timeout_is_a_wait_and_names_its_file_system() -> None:
    (found,) = timeouts(3, 3, 4)
    assert (found.detector, str(found.object)) == ("storage_timeouts", "device:node1")
    assert parse_series_key(found.evidence[0].series)[1]["fs"] == HOME


@pytest.mark.parametrize(("kind", "side"), [("lock_timeout", "server"), ("network_drop", "client")])
def test_other_errors_of_storage_are_no_timeouts_of_a_client(kind: str, side: str) -> None:
    assert timeouts(3, 3, 4, kind=kind, side=side) == []


def test_clients_that_all_wait_are_one_incident_about_the_file_system() -> None:
    """From samples to the incident: how the evidence names file system and clients is what correlation reads."""
    hosts = [client(f"node{n}", lambda number, n=n: all_wait(n, number), 36, HOME) for n in range(4)]  # type: ignore[misc]
    engine = Engine(CONFIG, Correlator())
    for n in range(4):
        entities = Device(f"node{n}", Role.HOST), Mount(f"node{n}", HOME)
        engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    rounds = [each for of_round in zip(*hosts, strict=True) for each in of_round]
    found = [each for each in run(engine, [*rounds, *clockwork(0, [36, 37])]) if isinstance(each, Incident)]
    assert {(each.kind, str(each.root), each.severity) for each in found} == {
        (IncidentKind.SLOW_STORAGE, f"filesystem:{HOME}", Severity.INFO)
    }
    assert found[-1].because[0] == "4 of 4 clients of nas1:/home wait, the server states no times of its own"
