"""kube-state-metrics: whose pods are one job, which nodes are cordoned, and pages that must end nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from common.errors import BadInput
from ingest.collectors.base import CollectorContext
from ingest.collectors.http_document import document_url
from ingest.collectors.kubernetes.collector import KubernetesCollector
from ingest.collectors.kubernetes.config import Config
from ingest.collectors.kubernetes.jobs import jobs_of
from ingest.collectors.kubernetes.nodes import nodes_of
from ingest.collectors.kubernetes.page import Page, parse_page
from ingest.ledger import Ledger
from telemetry.changes import Change, ChangeKind
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Intent, Job, NodeState, TopologyFact

SAMPLE = Path("tests/data/samples/kubernetes/kube_state_metrics_pod_node_job.prom")
GPUS = ("nvidia_com_gpu", "amd_com_gpu")
STARTED = 1_700_000_000


def pod(name: str, node: str, owner: str = "Job/llama", gpus: int = 8, phase: str = "Running", labels: str = "") -> str:
    """The lines of one pod, as kube-state-metrics 2.13 writes them."""
    kind, _, by = owner.partition("/")
    of = f'namespace="train",pod="{name}",uid="u-{name}"'
    return (
        f'kube_pod_info{{{of},host_ip="10.0.0.1",node="{node}",created_by_kind="{kind}",created_by_name="{by}"}} 1\n'
        f"kube_pod_start_time{{{of}}} {STARTED:.9e}\n"
        f"kube_pod_labels{{{of}{labels}}} 1\n"
        f'kube_pod_status_phase{{{of},phase="Pending"}} {int(phase == "Pending")}\n'
        f'kube_pod_status_phase{{{of},phase="{phase}"}} 1\n'
        f'kube_pod_container_resource_requests{{{of},container="main",node="{node}",resource="cpu",unit="core"}} 90\n'
        f'kube_pod_container_resource_requests{{{of},container="main",node="{node}",'
        f'resource="nvidia_com_gpu",unit="integer"}} {gpus}\n'
    )


def node(name: str, *, cordoned: bool = False, ready: bool = True, taint: str = "") -> str:
    lines = (
        f'kube_node_spec_unschedulable{{node="{name}"}} {int(cordoned)}\n'
        f'kube_node_status_allocatable{{node="{name}",resource="nvidia_com_gpu",unit="integer"}} 8\n'
        f'kube_node_status_condition{{node="{name}",condition="Ready",status="true"}} {int(ready)}\n'
        f'kube_node_status_condition{{node="{name}",condition="Ready",status="unknown"}} {int(not ready)}\n'
        f'kube_node_status_condition{{node="{name}",condition="MemoryPressure",status="false"}} 1\n'
        f'kube_node_spec_taint{{node="{name}",key="nvidia.com/gpu",value="present",effect="NoSchedule"}} 1\n'
    )
    return lines + (
        f'kube_node_spec_taint{{node="{name}",key="{taint}",value="",effect="NoSchedule"}} 1\n' if taint else ""
    )


def parsed(*lines: str) -> Page:
    return parse_page(b"# HELP kube_pod_info x\n" + "".join(lines).encode(), GPUS)


def running(*lines: str) -> dict[str, tuple[str, ...]]:
    found = jobs_of(parsed(*lines))
    assert found is not None
    return {name: job.nodes for name, job in found.running.items()}


def test_the_pods_of_one_owner_are_one_job() -> None:
    found = jobs_of(parsed(pod("llama-1", "n2"), pod("llama-0", "n1"), node("n1"), node("n2")))
    assert found is not None
    assert dict(found.running) == {
        "train/llama": Job("train/llama", ("n1", "n2"), name="llama", user="train", started_ns=STARTED * 10**9)
    }


@pytest.mark.parametrize(
    "label",
    [
        "label_jobset_sigs_k8s_io_jobset_name",
        "label_training_kubeflow_org_job_name",
        "label_volcano_sh_job_name",
        "label_ray_io_cluster",
    ],
)
def test_the_jobs_of_a_set_are_one_job_where_its_label_is_shown(label: str) -> None:
    labels = f',{label}="llama"'
    pods = [pod("a-0", "n1", "Job/llama-a-0", labels=labels), pod("b-0", "n2", "Job/llama-b-0", labels=labels)]
    assert running(*pods) == {"train/llama": ("n1", "n2")}


@pytest.mark.parametrize("owner", ["ReplicaSet/serve-5d", "DaemonSet/burn-in", "/", "<none>/<none>"])
def test_pods_that_serve_each_for_itself_are_jobs_of_their_own(owner: str) -> None:
    assert running(pod("s-0", "n1", owner), pod("s-1", "n2", owner)) == {"train/s-0": ("n1",), "train/s-1": ("n2",)}


def test_several_pods_that_hold_a_node_together_hold_all_of_it() -> None:
    assert running(pod("a-0", "n1", gpus=4), pod("a-1", "n1", gpus=4), node("n1")) == {"train/llama": ("n1",)}


def test_a_part_of_a_node_is_left_out_as_nobody_says_which() -> None:
    found = jobs_of(parsed(pod("a-0", "n1", gpus=2), node("n1"), pod("b-0", "n2", "Job/other"), node("n2")))
    assert found is not None
    assert (list(found.running), found.malformed) == (["train/other"], 1)


def test_a_job_whose_pod_begins_again_goes_on_with_its_other_nodes() -> None:
    pods = [pod("a-0", "n1", gpus=4), pod("a-1", "n1", gpus=4), pod("a-2", "n2", gpus=4)]
    pods.append(pod("a-3", "n2", gpus=4, phase="Pending"))
    found = jobs_of(parsed(*pods, node("n1"), node("n2")))
    assert found is not None
    assert (found.running["train/llama"].nodes, found.malformed) == (("n1",), 1)


def test_what_a_node_has_of_all_resources_is_added_up() -> None:
    amd = 'kube_node_status_allocatable{node="n1",resource="amd_com_gpu",unit="integer"} 0\n'
    assert running(pod("a-0", "n1", gpus=2), node("n1"), amd) == {}
    cpu = 'kube_node_status_allocatable{node="n1",resource="cpu",unit="core"} 192\n'
    assert running(pod("a-0", "n1"), node("n1"), cpu) == {"train/llama": ("n1",)}


@pytest.mark.parametrize("phase", ["Pending", "Unknown"])
def test_a_pod_that_does_not_run_has_no_nodes(phase: str) -> None:
    assert running(pod("a-0", "n1"), pod("a-1", "", phase=phase), node("n1")) == {"train/llama": ("n1",)}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_job_all_of_whose_pods_ended_has_ended(phase: str) -> None:
    found = jobs_of(
        parsed(pod("a-0", "n1", phase=phase), pod("b-0", "n2", "Job/b"), pod("b-1", "n3", "Job/b", phase=phase))
    )
    assert found is not None
    assert (list(found.running), dict(found.ended)) == (["train/b"], {"train/llama": 0})


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (node("n1"), NodeState("n1", "")),
        (node("n1", ready=False), NodeState("n1", "NotReady")),
        (node("n1", cordoned=True), NodeState("n1", "SchedulingDisabled", Intent.DRAINED)),
        (node("n1", cordoned=True, ready=False), NodeState("n1", "NotReady,SchedulingDisabled", Intent.DRAINED)),
        (
            node("n1", taint="ToBeDeletedByClusterAutoscaler"),
            NodeState("n1", "", Intent.POWERED_DOWN, "ToBeDeletedByClusterAutoscaler"),
        ),
        (
            node("n1", cordoned=True, taint="node.kubernetes.io/out-of-service"),
            NodeState("n1", "SchedulingDisabled", Intent.POWERED_DOWN, "node.kubernetes.io/out-of-service"),
        ),
        (node("n1", taint="node.kubernetes.io/memory-pressure"), NodeState("n1", "")),
    ],
)
def test_what_takes_a_node_away_on_purpose(lines: str, state: NodeState) -> None:
    found = nodes_of(parsed(lines))
    assert found is not None
    assert dict(found.nodes) == {"n1": state}


def test_a_real_page_is_read() -> None:
    """Of kube-state-metrics' own tests: a node that is cordoned, pods without a node."""
    page = parse_page(SAMPLE.read_bytes(), GPUS)
    nodes, jobs = nodes_of(page), jobs_of(page)
    assert nodes is not None
    assert jobs is not None
    assert nodes.nodes["127.0.0.1"].intent is Intent.DRAINED
    assert dict(jobs.running) == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_exposition"),
        (b"<html>", "not_exposition"),
        (b"up 1\n", "not_exposition"),
        (b'kube_node_spec_unschedulable{node="n1"} 0\nkube_pod_info{names', "truncated"),
        (b'kube_node_spec_unschedulable{node="n1"} many\n', "bad_format"),
        (b'kube_node_spec_unschedulable{node="\xff"} 0\n', "bad_format"),
    ],
)
def test_other_pages_and_half_pages_are_refused(body: bytes, reason: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_page(body, GPUS)
    assert refused.value.reason == reason


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


@asynccontextmanager
async def kube_state_metrics(pages: list[str]) -> AsyncIterator[str]:
    """A server whose page is another one at each request, behind a token."""

    async def metrics(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Bearer t0ken":
            return web.Response(status=401)
        response = web.Response(text=pages.pop(0))
        response.enable_compression()
        return response

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
    finally:
        await runner.cleanup()


async def test_a_job_and_a_cordon_over_http(tmp_path: Path, context: CollectorContext) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    job = Job("train/llama", ("n1",), name="llama", user="train", started_ns=STARTED * 10**9)
    free, cordoned = NodeState("n1", ""), NodeState("n1", "SchedulingDisabled", Intent.DRAINED)
    pages = [pod("a-0", "n1") + node("n1"), node("n1"), pod("b-0", "", "Job/b") + node("n1", cordoned=True), "no page"]
    async with kube_state_metrics(pages) as url:
        anonymous = KubernetesCollector(Config(url=url), context)
        refused = await anonymous.collect(1)
        assert isinstance(refused, SampleBatch)
        assert refused.collection.down is DownReason.AUTH
        await anonymous.stop()
        collector = KubernetesCollector(
            Config.model_validate({"url": url, "authorization": {"credentials_file": token}}), context
        )
        first = await collector.collect(2)
        assert isinstance(first, list)
        assert [each for each in first if isinstance(each, TopologyFact)] == [
            TopologyFact(job, 2, "kubernetes"),
            TopologyFact(free, 2, "kubernetes"),
        ]
        assert [each.kind for each in first if isinstance(each, Change)] == [ChangeKind.JOB_START]
        assert await collector.collect(3) == [], "a kube-state-metrics that has not listed its pods yet ends no job"
        drained = await collector.collect(4)
        assert isinstance(drained, list)
        assert TopologyFact(job, 4, "kubernetes", gone=True) in drained
        assert TopologyFact(cordoned, 4, "kubernetes") in drained
        failed = await collector.collect(5)
        assert isinstance(failed, SampleBatch)
        assert failed.collection.down is DownReason.NOT_EXPOSITION
        await collector.stop()


@pytest.mark.parametrize(
    "url", ["kube-state-metrics:8080", "http://", "http://a:port/metrics", "http://user:secret@a/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        Config(url=url)


def test_the_path_of_a_page_may_be_left_out() -> None:
    assert document_url("http://a:8080", "/metrics").path == "/metrics"
    assert document_url("https://a/federate?x=1", "/metrics").path == "/federate?x=1"


async def test_a_page_that_may_be_a_part_of_one_is_refused(context: CollectorContext) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + node("n1").encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        collector = KubernetesCollector(Config(url=f"http://127.0.0.1:{port}"), context)
        refused = await collector.collect(1)
        await collector.stop()
    assert isinstance(refused, SampleBatch)
    assert refused.collection.down is DownReason.TRUNCATED
