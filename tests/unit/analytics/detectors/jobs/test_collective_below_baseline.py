"""A job whose collectives are slower than nccl-tests were, by NCCL Inspector's own lines and results of nccl-tests.

Two jobs of two ranks on each of two hosts; nccl-tests ran so on two hosts, and reached 65.49 GB/s at 1 GiB.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from analytics.config import DetectionConfig, EngineConfig
from analytics.engine import Engine
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.nccl_tests.folder import parse_file
from ingest.collectors.nccl_tests.result import Result
from telemetry import objects
from telemetry.catalogue import origins_of, source
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.topology import Device, Entity, Job, Role, TopologyFact
from tests.samples import SAMPLES
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, table

RESULTS = SAMPLES / "nccl" / "all_reduce_and_sendrecv_perf.txt"
INSPECTOR = SAMPLES / "nccl" / "inspector_metrics.prom"
TESTED, HALF = 65.49, 65.49 / 2
JOBS = {"7": ("node1", "node2"), "8": ("node3", "node4")}
GPUS = ("GPU0", "GPU1")
FILE_S, END_S = 30, 400  # a file is written every 30 s, and read every 10 s
Bandwidth = Callable[[str, str, int], float]
"""In GB/s, of a GPU of a host in the n-th file."""
ACROSS = {"n_nodes": "2", "nranks": "4", "message_size": "1-2GB"}


def baseline(results: str) -> Mapping[str, float]:
    tests = (test for test in parse_file(results.encode(), 100, RESULTS.name) if isinstance(test, Result))
    values = Values.of(sample for test in tests for sample in test.samples({}))
    return TargetSamples("nccl-tests", "login1", "nccl_tests", 0).read(values).by_series()


def line(host: str, gpu: str, value: float, labels: Mapping[str, str]) -> str:
    """As Inspector writes it, with other labels and another value."""
    text = INSPECTOR.read_text().splitlines()[0]
    for name, label in {"node": host, "gpu": gpu, **labels}.items():
        text, found = re.subn(rf'([{{,]{name}=)"[^"]*"', rf'\g<1>"{label}"', text)
        assert found == 1
    return f"{text.rpartition(' ')[0]} {value:.6g}\n"


def read(host: str, body: str) -> Mapping[str, float]:
    found = source("nccl_inspector")
    reader = BodyReader(f"nccl/{host}", host, Mapper(found, {"device": host}, origins_of("nccl_inspector")))
    samples = reader.read(body.encode(), START_NS)
    return {samples.table.keys[row]: value for row, value in zip(samples.series, samples.values.tolist(), strict=True)}


def findings(
    bandwidth: Bandwidth,
    labels: Mapping[str, str] = ACROSS,
    *,
    results: str = RESULTS.read_text(),
    jobs: Mapping[str, Sequence[str]] = JOBS,
    named: bool = True,
    share: float = 0.5,
    gone_s: int = END_S,
) -> list[Finding]:
    """labels: of the lines of job 7; job 8 is always well. named: whether lines name their job. jobs: that run.
    gone_s: from when there are no baselines."""
    engine = Engine(EngineConfig(interval_s=INTERVAL_S, detection=DetectionConfig(collective_baseline_share=share)))
    entities: list[Entity] = [Job(job_id, tuple(hosts)) for job_id, hosts in jobs.items()]
    entities += [Device(host, Role.HOST) for hosts in JOBS.values() for host in hosts]
    engine.add_facts([TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities])
    tested, found = baseline(results), list[Finding]()
    for seq in range(END_S // INTERVAL_S):
        if tested and seq * INTERVAL_S < gone_s:
            engine.observe(batch(table("login1", list(tested), "nccl_tests"), seq, list(tested.values())))
        for job_id, hosts in JOBS.items():
            for host in hosts:
                body = "".join(
                    line(
                        host,
                        gpu,
                        (bandwidth if job_id == "7" else well)(host, gpu, seq * INTERVAL_S // FILE_S),
                        {**(labels if job_id == "7" else ACROSS), "slurm_job_id": job_id if named else "unknown"},
                    )
                    for gpu in GPUS
                )
                series = read(host, body)
                engine.observe(batch(table(host, list(series), "nccl"), seq, list(series.values())))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
        assert not engine.detectors.failures
    return [each for each in found if each.detector == "collective_below_baseline"]


def well(host: str, gpu: str, file: int) -> float:
    return 0.9 * TESTED + 0.01 * (file % 7)


def slow(host: str, gpu: str, file: int) -> float:
    """From the fifth file to the tenth."""
    return (0.3 if 4 <= file < 10 else 0.9) * TESTED + 0.01 * (file % 7)


def test_it_is_found_with_the_third_reading_and_ends_when_it_is_over() -> None:
    found = findings(slow)
    first, last = found[0], found[-1]
    assert {each.object for each in found} == {objects.job("7")}
    assert (first.kind, first.confidence) == (FindingKind.COLLECTIVE_BELOW_BASELINE, 0.2)
    assert first.onset_ns == START_NS + 4 * FILE_S * SECOND
    assert first.observed_ns == START_NS + 6 * FILE_S * SECOND
    assert first.score == pytest.approx(HALF / (0.3 * TESTED), rel=0.01)
    (evidence,) = first.evidence
    assert evidence.normal == pytest.approx(TESTED * 1e9)
    assert evidence.value == pytest.approx(0.3 * TESTED * 1e9, rel=0.01)
    assert evidence.unit == "bytes_per_second"
    assert evidence.series.startswith("nccl_bus_bandwidth_bytes_per_second{")
    assert 'communicator="DP Group 0"' in evidence.series
    assert (last.state, last.id) == (FindingState.CLEARED, first.id)
    assert last.observed_ns == START_NS + 12 * FILE_S * SECOND  # three readings after the last that was slow


def never(host: str, gpu: str, file: int) -> float:
    return 0.3 * TESTED + 0.01 * (file % 7)


def one_waits(host: str, gpu: str, file: int) -> float:
    """GPUs that come early wait for the last one, which is as fast as ever."""
    return never(host, gpu, file) if (host, gpu) != ("node2", "GPU1") else well(host, gpu, file)


def twice(host: str, gpu: str, file: int) -> float:
    return never(host, gpu, file) if file % 3 else well(host, gpu, file)


def written_once(host: str, gpu: str, file: int) -> float:
    """As where the job has ended, and its file is still there."""
    return 0.3 * TESTED


@pytest.mark.parametrize("bandwidth", [well, one_waits, twice, written_once])
def test_what_is_left_alone(bandwidth: Bandwidth) -> None:
    assert findings(bandwidth) == []


@pytest.mark.parametrize(
    "other",
    [
        {"message_size": "256-257MB"},  # the next smaller result has 2 MiB
        {"message_size": "4-5KB"},  # latency decides
        {"collective": "AllGather"},
        {"n_nodes": "1"},  # over NVLink
        {"nranks": "8"},  # more NICs on each host
        {"n_nodes": "4", "nranks": "8"},  # more hosts than were tested
    ],
)
def test_what_is_not_alike_is_not_compared(other: dict[str, str]) -> None:
    assert findings(never, ACROSS | other) == []


def test_a_size_between_two_results_is_compared_with_the_smaller_one() -> None:
    found = findings(never, ACROSS | {"message_size": "3-4MB"})
    assert found[0].evidence[0].normal == pytest.approx(44.75e9)  # the slower one of in place and out of place


def test_without_results_nothing_is_compared() -> None:
    assert findings(never, results="") == []


def test_a_result_that_is_gone_ends_nothing() -> None:
    found = findings(slow, gone_s=9 * FILE_S)
    assert {each.state for each in found} == {FindingState.ACTIVE}


def test_a_line_that_names_no_job_is_about_the_only_job_of_its_host() -> None:
    assert {each.object for each in findings(never, named=False)} == {objects.job("7")}


def test_nor_about_one_of_several() -> None:
    assert findings(never, named=False, jobs=JOBS | {"9": ("node1", "node2")}) == []


def test_a_job_that_does_not_run_has_no_finding() -> None:
    assert findings(never, jobs={"8": JOBS["8"]}) == []


def test_the_share_is_a_setting() -> None:
    assert findings(slow, share=0.25) == []
    assert findings(well, share=0.95)


ON_ONE_HOST = RESULTS.read_text().replace("on      node2 ", "on      node1 ")


def test_a_communicator_on_one_host_is_not_hidden_by_those_of_its_name_on_others() -> None:
    def one_host(host: str, gpu: str, file: int) -> float:
        return (never if host == "node2" else well)(host, gpu, file)

    labels = ACROSS | {"n_nodes": "1"}
    found = findings(one_host, labels, results=ON_ONE_HOST)
    assert {each.object for each in found} == {objects.job("7")}
    assert 'device="node2"' in found[0].evidence[0].series
