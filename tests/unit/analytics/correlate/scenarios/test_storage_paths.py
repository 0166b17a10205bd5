"""Clients that wait for storage: a target is blamed only where those on different paths agree with its own times."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from analytics.detectors.storage.storage_slow import ONE_CLIENT_CONFIDENCE
from analytics.models.storage_clients import CLIENTS_MEASURED, SERVER_SECONDS
from telemetry.findings import Evidence, Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import Severity
from telemetry.objects import device
from telemetry.series import series_key
from telemetry.topology import Device, Entity, Job, Link, Mount, Role, StorageTarget
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S

HOME = "nas1:/home"
TARGET = "storage_target:nas1:/home/0"
DISKS = "device:nas1"
SERVER_LINK = "leafS/Ethernet0--nas1/eth0"
CLIENTS = [f"c{n}" for n in range(1, 9)]  # two behind each of leafA to leafD
EACH = "seconds an operation"


def entities(*, targets: bool = False) -> Iterable[Entity]:
    """Clients on four leaves of their own, each with an uplink to a spine, and an NFS server on a fifth."""
    for leaf in "ABCDS":
        yield Device(f"leaf{leaf}", Role.LEAF)
        yield Link(f"leaf{leaf}", "Ethernet100", "spineX", f"Ethernet{ord(leaf)}")
    yield Device("spineX", Role.SPINE)
    yield Device("nas1", Role.STORAGE)
    yield Link("leafS", "Ethernet0", "nas1", "eth0")
    for n, name in enumerate(CLIENTS):
        yield Device(name, Role.HOST)
        yield Link(f"leaf{'ABCD'[n // 2]}", f"Ethernet{n % 2}", name, "eth0")
        yield Mount(name, HOME)
    yield Job("7", ("c1", "c3"), started_ns=T0 - 7200 * S)
    if targets:
        yield StorageTarget(HOME, "0", "nas1")


@pytest.fixture(scope="module")
def nfs() -> Fabric:
    return Fabric(entities())


@pytest.fixture(scope="module")
def served() -> Fabric:
    """The server states times of its own for the export."""
    return Fabric(entities(targets=True))


def wait(
    client: str, at: float = 0.0, *, server_s: float | None = None, measured: int = 8, queued: float = 0.01
) -> Finding:
    labels = {"device": client, "fs": HOME, "op": "read", "side": "client", "system": "nfs", "target": ""}
    of = {"fs": HOME, "op": "read"}
    evidence = [
        Evidence(series_key("storage_operation_duration_seconds_sum", labels), 0.2, 0.004, EACH),
        Evidence(series_key("storage_queue_seconds_total", labels), queued, None, EACH),
        Evidence(series_key(CLIENTS_MEASURED, of), measured, None, "clients"),
    ]
    if server_s is not None:
        evidence.append(Evidence(series_key(SERVER_SECONDS, of), server_s, None, EACH))
    onset_ns = T0 + int(at * S)
    active = FindingState.ACTIVE, onset_ns, onset_ns
    return Finding(f"wait@{client}", K.STORAGE_WAIT, device(client), "storage_wait", *active, 2.0, 0.6, tuple(evidence))


def waits(*clients: str, at: float = 0.0, server_s: float | None = None, measured: int = 8) -> list[Finding]:
    return [wait(client, at, server_s=server_s, measured=measured) for client in clients]


def test_a_target_is_blamed_where_clients_over_different_paths_and_its_own_times_say_so(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET), *waits(*CLIENTS[:7], server_s=0.19), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.SLOW_STORAGE, TARGET)
    assert run.only.because[0] == (
        "nas1:/home/0 answers slowly; 7 of 8 clients of nas1:/home on 4 leaves wait, and the server's own times say so"
    )
    assert run.only.because[-1] == "it predicts what else is seen: client waits (7)"
    assert len(run.only.findings) == 8


def test_disks_of_an_nfs_server_that_are_slow_are_its_own_times_too(nfs: Fabric) -> None:
    run = Run(nfs)
    run.tick(nfs.find(K.STORAGE_SLOW, DISKS), *waits(*CLIENTS), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.SLOW_STORAGE, DISKS)
    assert len(run.only.findings) == 9


def test_clients_that_agree_make_a_slow_target_sure_that_one_client_alone_could_explain(served: Fabric) -> None:
    """Beside a client's link that loses packets, such a target would be that link's symptom."""
    unsure = replace(served.find(K.STORAGE_SLOW, TARGET, 8), confidence=ONE_CLIENT_CONFIDENCE)
    link = served.find(K.LINK_ERRORS, "c1/eth0")
    alone, together = Run(served), Run(served)
    alone.tick(link, unsure, ticks=12)
    together.tick(link, unsure, *waits("c3", "c5", "c7", at=8, server_s=0.19), ticks=12)
    assert alone.roots == ["link_degraded c1/eth0--leafA/Ethernet0"]
    assert together.roots == ["link_degraded c1/eth0--leafA/Ethernet0", "slow_storage nas1:/home/0"]


def test_no_target_is_blamed_for_one_client(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET, score=1.5), wait("c5", server_s=0.19), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.STORAGE_PATH, "device:c5")
    assert run.only.because[0] == "c5 alone of 8 clients of nas1:/home waits: its own way to storage"
    assert len(run.only.findings) == 2


def test_an_incident_of_a_target_is_revised_where_one_client_alone_turns_out_to_wait(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET), ticks=2)
    first = run.only
    run.tick(wait("c5", 10, server_s=0.19), ticks=12)
    assert first.kind is I.SLOW_STORAGE
    assert (run.only.id, run.only.kind) == (first.id, I.STORAGE_PATH)


def test_the_first_client_that_is_read_contradicts_nothing(served: Fabric) -> None:
    """Hosts are read one after the other; the others may show the same a moment later."""
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET), wait("c1", server_s=0.19), ticks=2)
    run.tick(*waits(*CLIENTS[1:], at=8, server_s=0.19), ticks=12)
    assert run.roots == ["slow_storage nas1:/home/0"]
    assert not [entry for entry in run.only.timeline if "revised" in entry.text]


def test_too_few_clients_to_compare_contradict_no_target(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET), wait("c1", server_s=0.19, measured=1), ticks=12)
    assert run.roots == ["slow_storage nas1:/home/0"]


def test_a_target_without_clients_that_have_times_is_judged_as_ever(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET), ticks=12)
    assert run.only.because[0] == "nas1:/home/0 answers slowly (90 % against 10 %)"


def test_where_all_wait_and_the_server_does_not_it_is_the_way_near_the_server(served: Fabric) -> None:
    run = Run(served)
    run.tick(*waits(*CLIENTS, server_s=0.003), ticks=12)
    assert (run.only.kind, run.only.root.name) == (I.STORAGE_PATH, SERVER_LINK)
    assert run.only.because[0] == (
        "8 of 8 clients of nas1:/home on 4 leaves wait while its server's own times are normal: "
        f"what all share is the way near {SERVER_LINK}"
    )


def test_of_a_server_with_several_links_it_is_the_server(served: Fabric) -> None:
    run = Run(Fabric([*entities(targets=True), Link("leafA", "Ethernet9", "nas1", "eth1")]))
    run.tick(*waits(*CLIENTS, server_s=0.003), ticks=12)
    assert run.roots == ["storage_path nas1"]


def test_where_all_behind_one_switch_wait_and_others_do_not_it_is_that_switch(served: Fabric) -> None:
    run = Run(served)
    run.tick(*waits("c3", "c4", server_s=0.003), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.STORAGE_PATH, "device:leafB")
    assert run.only.because[0] == (
        "2 of 8 clients of nas1:/home wait, all behind leafB, and the 6 others that mount it are not"
    )


def test_a_slow_target_is_not_blamed_for_the_clients_of_one_switch(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.STORAGE_SLOW, TARGET, score=1.5), *waits("c3", "c4", server_s=0.19), ticks=12)
    assert run.roots == ["storage_path leafB"]


def test_few_clients_of_different_switches_have_nothing_in_common(served: Fabric) -> None:
    run = Run(served)
    run.tick(*waits("c1", "c5", server_s=0.003), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.STORAGE_PATH, f"filesystem:{HOME}")
    assert "no part of their paths is theirs alone" in run.only.because[0]


def test_one_client_alone_is_its_own_host_and_its_queue_says_where(nfs: Fabric) -> None:
    run = Run(nfs)
    run.tick(wait("c5", queued=0.15), ticks=12)
    assert (run.only.kind, str(run.only.root), run.only.severity) == (I.STORAGE_PATH, "device:c5", Severity.INFO)
    assert run.only.because[0].endswith("its own way to storage, most of the time in its own queue")


def test_where_clients_alone_have_times_it_is_the_file_system_and_its_network_cannot_be_told_apart(
    nfs: Fabric,
) -> None:
    run = Run(nfs)
    run.tick(*waits(*CLIENTS[:7]), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.SLOW_STORAGE, f"filesystem:{HOME}")
    assert run.only.title.startswith("[INFO] file system nas1:/home slow — no job waits")
    assert run.only.because[0].endswith("on 4 leaves wait, the server states no times of its own")
    assert (
        run.only.missing[0] == "the server's own times of nas1:/home: without them it cannot be told from its network"
    )
    assert run.only.confidence < 0.7


def test_a_server_whose_targets_are_all_slow_says_so_without_a_finding_of_its_own(served: Fabric) -> None:
    """A target is compared with its siblings, which are as slow."""
    run = Run(served)
    run.tick(*waits(*CLIENTS, server_s=0.18), ticks=12)
    assert (run.only.kind, str(run.only.root)) == (I.SLOW_STORAGE, f"filesystem:{HOME}")
    assert run.only.because[0].endswith("wait, and the server's own times say so")
    assert not any("cannot be told" in text for text in run.only.missing)


@pytest.mark.parametrize(
    ("fault", "port", "clients"),
    [
        (K.LINK_ERRORS, "leafS/Ethernet0", CLIENTS),
        (K.LINK_ERRORS, "nas1/eth0", CLIENTS),
        (K.LINK_ERRORS, "c5/eth0", ["c5"]),
        (K.LINK_ERRORS, "leafB/Ethernet100", ["c3", "c4"]),
        (K.LINK_DOWN, "leafS/Ethernet0", CLIENTS),
        (K.PFC_PAUSE_RECEIVED, "leafC/Ethernet0", ["c5"]),
        (K.PFC_PAUSE_RECEIVED, "leafS/Ethernet0", CLIENTS),
    ],
)
def test_a_fault_on_the_way_explains_why_clients_wait(fault: K, port: str, clients: list[str], served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(fault, port), *waits(*clients, at=4, server_s=0.003), ticks=14)
    assert run.only.kind in (I.LINK_DEGRADED, I.LINK_DOWN, I.SLOW_RECEIVER)
    assert len(run.only.findings) == 1 + len(clients)


def test_the_link_of_the_client_that_waits_alone_explains_its_target_too(served: Fabric) -> None:
    unsure = replace(served.find(K.STORAGE_SLOW, TARGET, 8), confidence=ONE_CLIENT_CONFIDENCE)
    run = Run(served)
    run.tick(served.find(K.LINK_ERRORS, "c1/eth0"), unsure, wait("c1", 8, server_s=0.19), ticks=14)
    assert run.roots == ["link_degraded c1/eth0--leafA/Ethernet0"]
    assert len(run.only.findings) == 3


def test_the_link_of_another_client_explains_nothing(served: Fabric) -> None:
    run = Run(served)
    run.tick(served.find(K.LINK_ERRORS, "c6/eth0"), wait("c5", 4, server_s=0.003), ticks=14)
    assert run.roots == ["link_degraded c6/eth0--leafC/Ethernet1", "storage_path c5"]


def test_clients_that_wait_page_nobody_until_a_job_does(nfs: Fabric) -> None:
    run = Run(nfs)
    run.tick(*waits(*CLIENTS), ticks=60)
    assert run.pages == []
    run.tick(nfs.find(K.JOB_STALLED, "job:7", 300), ticks=6)
    assert run.only.severity is not Severity.INFO
    assert run.pages == [f"slow_storage {HOME}"]


def test_one_client_that_waits_pages_with_its_job(served: Fabric) -> None:
    run = Run(served)
    run.tick(wait("c1", server_s=0.003), ticks=60)
    assert run.pages == []
    run.tick(served.find(K.JOB_STALLED, "job:7", 300), ticks=6)
    assert run.pages == ["storage_path c1"]


def test_a_wait_that_names_no_file_system_is_unexplained(nfs: Fabric) -> None:
    run = Run(nfs)
    run.tick(nfs.find(K.STORAGE_WAIT, "c1"), ticks=20)
    assert run.roots == ["unexplained c1"]


def test_timeouts_of_several_clients_agree_without_times(nfs: Fabric) -> None:
    """Whoever finishes nothing has no times, so nobody is measured."""
    series = 'storage_errors_total{{device="{0}",fs="nas1:/home",kind="read_timeout",side="client",system="nfs"}}'
    found = [
        replace(nfs.find(K.STORAGE_WAIT, name), evidence=(Evidence(series.format(name), 0.1, 0.0, "errors/s"),))
        for name in ("c1", "c3", "c5")
    ]
    run = Run(nfs)
    run.tick(*found, ticks=12)
    assert run.roots == [f"slow_storage {HOME}"]
