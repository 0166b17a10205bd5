import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError

from common.errors import BadInput
from common.units import NS_PER_S as S
from ingest.collectors.job_list import changes, facts
from ingest.collectors.slurm.collector import SlurmCollector
from ingest.collectors.slurm.config import Config
from ingest.collectors.slurm.jobs import parse_jobs
from telemetry import objects
from telemetry.changes import Change, ChangeKind
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Job, TopologyFact
from tests.samples import SAMPLES

SAMPLE = SAMPLES / "slurm" / "squeue_out.json"


def entry(**changed: Any) -> dict[str, Any]:
    """A job as slurmrestd 24.05 lists it."""
    number = {"set": True, "infinite": False, "number": 1700000000}
    return {
        "job_id": 4711,
        "job_state": ["RUNNING"],
        "nodes": "node[1-2]",
        "name": "llm",
        "user_name": "ada",
        "partition": "gpu",
        "start_time": number,
        "gres_detail": ["gpu:h100:4(IDX:0,2-4)", "gpu:h100:4(IDX:0,2-4)"],
        "tres_alloc_str": "cpu=8,node=2,gres/gpu=8",
        **changed,
    }


def parsed(*entries: object, **options: bool) -> dict[str, Job]:
    return dict(parse_jobs(json.dumps({"jobs": entries}).encode(), **options).running)


JOB = Job("4711", ("node1", "node2"), "llm", "ada", "gpu", (0, 2, 3, 4), 1700000000 * S)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"job_state": "RUNNING", "start_time": 1700000000},
        {"nodes": None, "job_resources": {"nodes": "node[1-2]"}},
        {"nodes": "", "job_resources": {"nodes": {"count": 2, "list": "node[1-2]"}}},
        {"gres_detail": ["gpu:2(IDX:0,2)", "gpu:2(IDX:3-4)"]},
        {"job_id": {"set": True, "infinite": False, "number": 4711}},
    ],
)
def test_the_forms_of_slurms_versions_are_one_job(changed: dict[str, Any]) -> None:
    assert parsed(entry(**changed)) == {"4711": JOB}


def test_numbers_that_are_not_set() -> None:
    for number in ({"set": False, "infinite": False, "number": 5}, {"set": True, "infinite": True, "number": 5}, None):
        assert parsed(entry(start_time=number))["4711"].started_ns == 0


def test_a_job_without_a_gpu_is_left_out_unless_it_is_wanted() -> None:
    cpu = entry(gres_detail=[], tres_alloc_str="cpu=8,node=2")
    assert parsed(cpu) == {}
    assert parsed(cpu, gpu_jobs_only=False)["4711"].nodes == ("node1", "node2")
    assert parsed(entry(gres_detail=[], tres_alloc_str=""))["4711"].gpu_indices == ()  # an old Slurm says nothing


def test_jobs_that_do_not_run_are_left_out() -> None:
    found = parse_jobs(
        json.dumps(
            {
                "jobs": [
                    entry(job_id=1, job_state=["PENDING"]),
                    entry(job_id=2, job_state=["COMPLETED"]),
                    entry(job_id=3, job_state=["RUNNING", "COMPLETING"]),
                ]
            }
        ).encode()
    )
    assert not found.running
    assert found.ended == {"2": 0, "3": 0}


def test_a_malformed_entry_is_counted_and_the_others_are_used() -> None:
    ended = entry(job_id=1, job_state="COMPLETED", end_time="soon")
    bad = [entry(nodes="n[x]"), entry(start_time=10**12), entry(start_time=-1), entry(job_id=""), ended]
    found = parse_jobs(json.dumps({"jobs": [7, {}, *bad, entry()]}).encode())
    assert (found.malformed, list(found.running), found.ended) == (7, ["4711"], {})


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"jobs": 1}'])
def test_other_documents_are_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        parse_jobs(body)


def test_a_real_squeue_of_two_versions() -> None:
    found = parse_jobs(SAMPLE.read_bytes(), gpu_jobs_only=False)
    assert found.malformed == 0
    assert found.running == {
        "26515966": Job("26515966", ("cs75",), "job_name", "bkd", "hw-l", (), 1684114921 * S),
    }


def test_the_life_of_a_job_in_facts() -> None:
    running = parse_jobs(json.dumps({"jobs": [entry()]}).encode())
    none = parse_jobs(b'{"jobs": []}')
    (began,) = facts({}, running, 5, "slurm")
    assert (began.entity, began.gone, began.source) == (JOB, False, "slurm")
    assert facts(running.running, running, 6, "slurm") == []
    (ended,) = facts(running.running, none, 7, "slurm")
    assert (ended.entity, ended.gone, ended.observed_ns) == (JOB, True, 7)


def test_a_job_that_ended_before_the_start_gets_its_fact_once() -> None:
    done = parse_jobs(json.dumps({"jobs": [entry(job_state=["COMPLETED"])]}).encode())
    (fact,) = facts(None, done, 5, "slurm")
    assert (fact.entity.key, fact.gone) == ("job/4711", True)
    assert facts({}, done, 6, "slurm") == []


def test_start_and_end_of_a_job_are_changes() -> None:
    running = parse_jobs(json.dumps({"jobs": [entry()]}).encode())
    began = Change(
        "job_start/4711/1700000000",
        ChangeKind.JOB_START,
        (objects.job("4711"), objects.device("node1"), objects.device("node2")),
        1700000000 * S,
        0,
        "ada",
        "llm of ada starts",
    )
    assert changes({}, running, 1700000005 * S) == [began]
    assert changes(None, running, 1700009999 * S) == [began], "a collector that starts again reports the same"
    assert changes(running.running, running, 6) == []
    done = parse_jobs(json.dumps({"jobs": [entry(job_state=["COMPLETED"], end_time=1700000300)]}).encode())
    for after, at_s in ((done, 1700000300), (parse_jobs(b'{"jobs": []}'), 1700000310)):
        (ended,) = changes(running.running, after, 1700000310 * S)
        assert (ended.kind, ended.starts_ns, ended.summary) == (ChangeKind.JOB_END, at_s * S, "llm of ada ends")


def test_a_job_of_unknown_start_started_when_it_was_first_seen() -> None:
    running = parse_jobs(json.dumps({"jobs": [entry(start_time=0)]}).encode())
    (began,) = changes({}, running, 5 * S)
    assert began.starts_ns == 5 * S
    assert changes(None, running, 5 * S) == [], "it may have run for days"


@asynccontextmanager
async def restd(handler: Any) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/slurm/v0.0.41/jobs", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}/slurm/v0.0.41/jobs"
    finally:
        await runner.cleanup()


async def test_slurmrestd_with_a_token(tmp_path: Path) -> None:
    async def jobs(request: web.Request) -> web.Response:
        if request.headers.get("X-SLURM-USER-TOKEN") != "t0ken":
            return web.Response(status=401)
        return web.json_response({"jobs": [entry()]})

    (tmp_path / "token").write_text("t0ken\n")
    async with restd(jobs) as url:
        anonymous = await SlurmCollector(Config(url=url)).collect(1)
        assert isinstance(anonymous, SampleBatch)
        assert anonymous.collection.down is DownReason.AUTH
        collector = SlurmCollector(Config(url=url, user="root", token_file=tmp_path / "token"))
        facts = await collector.collect(2)
        assert not isinstance(facts, SampleBatch)
        assert [one.entity for one in facts if isinstance(one, TopologyFact)] == [JOB]
        assert [one.kind for one in facts if isinstance(one, Change)] == [ChangeKind.JOB_START]
        assert await collector.collect(3) == []


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (500, b"", DownReason.HTTP_STATUS),
        (302, b"", DownReason.REDIRECT),
        (200, b"<html>", DownReason.BAD_FORMAT),
        (200, b" " * 2000, DownReason.TOO_LARGE),
    ],
)
async def test_the_reason_of_each_failure_of_slurmrestd(status: int, body: bytes, reason: DownReason) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers={"Location": "/"} if status == 302 else {})

    async with restd(answer) as url:
        batch = await SlurmCollector(Config(url=url, body_bytes_max=1000)).collect(1)
    assert isinstance(batch, SampleBatch)
    assert batch.collection.down is reason


async def test_a_password_in_the_address_is_sent_to_a_proxy_before_slurmrestd() -> None:
    async def jobs(request: web.Request) -> web.Response:
        return web.json_response({"jobs": []}, status=200 if request.headers["Authorization"] == expected else 401)

    expected = f"Basic {base64.b64encode(b'carol:s3 cret').decode()}"
    async with restd(jobs) as url:
        assert await SlurmCollector(Config(url=url.replace("//", "//carol:s3%20cret@"))).collect(1) == []


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected http://host:port/path"):
        Config(url="http://:6820/slurm/v0.0.41/jobs")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit(3)", DownReason.CLOSED),
        ("import time; time.sleep(60)", DownReason.TIMEOUT),
        ("print('x' * 100000)", DownReason.TOO_LARGE),
    ],
)
async def test_the_reason_of_each_failure_of_a_command(program: str, reason: DownReason) -> None:
    waits = {"timeout_s": 2.0} if reason is DownReason.TIMEOUT else {}  # a busy machine starts others late
    config = Config(command=(sys.executable, "-c", program), body_bytes_max=1000, **waits)
    batch = await SlurmCollector(config).collect(1)
    assert isinstance(batch, SampleBatch)
    assert batch.collection.down is reason


async def test_a_command_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"jobs": [entry()]}))
    for config in (Config(command=("cat", str(file))), Config(file=file)):
        facts = await SlurmCollector(config).collect(1)
        assert not isinstance(facts, SampleBatch)
        assert [one.entity for one in facts if isinstance(one, TopologyFact)] == [JOB]
        assert [one.kind for one in facts if isinstance(one, Change)] == [ChangeKind.JOB_START]


async def test_a_failure_ends_no_job(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"jobs": [entry()]}))
    collector = SlurmCollector(Config(file=file))
    await collector.collect(1)
    good = file.read_text()
    file.write_text("{")
    assert isinstance(await collector.collect(2), SampleBatch)
    file.write_text(good)
    assert await collector.collect(3) == []


# ---- single fields


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ("RUNNING", True),
        ("running", True),
        (["RUNNING"], True),
        (["RUNNING", "RESIZING"], True),
        (["RUNNING", "COMPLETING"], False),
        ("COMPLETED", False),
        (["SUSPENDED"], False),
        ([], False),
        (None, False),
    ],
)
def test_states(state: object, runs: bool) -> None:
    assert ("4711" in parsed(entry(job_state=state))) is runs


@pytest.mark.parametrize(
    ("number", "started_s"),
    [
        (1700000000, 1700000000),
        ("1700000000", 1700000000),
        (1700000000.9, 1700000000),
        ({"set": True, "infinite": False, "number": 7}, 7),
        ({"number": 7}, 7),
        ({"set": False, "number": 7}, 0),
        ({"set": True, "infinite": True, "number": 7}, 0),
        ({"set": True, "number": None}, 0),
        ({}, 0),
        ("", 0),
        (None, 0),
        (0, 0),
    ],
)
def test_numbers_in_the_forms_of_all_versions(number: object, started_s: int) -> None:
    assert parsed(entry(start_time=number))["4711"].started_ns == started_s * S


@pytest.mark.parametrize(
    ("gres", "indices"),
    [
        ([], ()),
        (None, ()),
        (["gpu:4(IDX:0-3)"], (0, 1, 2, 3)),
        (["gpu:h100:4(IDX:0,2-4)"], (0, 2, 3, 4)),
        (["gpu:1(IDX:3)", "gpu:1(IDX:1)"], (1, 3)),
        (["gpu:a100:1(IDX:0),gpu:h100:1(IDX:5)"], (0, 5)),
        (["gpu:4"], ()),
        (["mps:100(IDX:0)"], ()),
        (["shard:2(IDX:1)", "gpu:1(IDX:2)"], (2,)),
    ],
)
def test_gpu_indices(gres: object, indices: tuple[int, ...]) -> None:
    assert parsed(entry(gres_detail=gres))["4711"].gpu_indices == indices


@pytest.mark.parametrize(
    ("resources", "gres", "kept"),
    [
        ("cpu=8,gres/gpu=4", [], True),
        ("cpu=8,gres/gpu:h100=4", [], True),
        ("cpu=8", ["gpu:1(IDX:0)"], True),
        ("", [], True),  # an old Slurm lists nothing
        (None, [], True),
        ("cpu=8,node=2", [], False),
        ("cpu=8,gres/mps=100", [], False),
    ],
)
def test_jobs_with_a_gpu_are_kept(resources: object, gres: list[str], kept: bool) -> None:
    assert ("4711" in parsed(entry(tres_alloc_str=resources, gres_detail=gres))) is kept
    assert "4711" in parsed(entry(tres_alloc_str=resources, gres_detail=gres), gpu_jobs_only=False)


@pytest.mark.parametrize(
    ("changed", "nodes"),
    [
        ({"nodes": "node1"}, ("node1",)),
        ({"nodes": {"list": "node[1-2]", "count": 2}}, ("node1", "node2")),
        ({"nodes": "(null)", "job_resources": {"nodes": "node3"}}, ("node3",)),
        ({"nodes": None, "job_resources": {"nodes": {"list": "node3"}}}, ("node3",)),
        ({"nodes": "node1", "job_resources": {"nodes": "node3"}}, ("node1",)),
    ],
)
def test_nodes_in_the_forms_of_all_versions(changed: dict[str, Any], nodes: tuple[str, ...]) -> None:
    assert parsed(entry(**changed))["4711"].nodes == nodes


@pytest.mark.parametrize("nodes", ["", None, {"count": 0}, [], "(null)"])
def test_a_running_job_without_nodes_is_left_out(nodes: object) -> None:
    assert parsed(entry(nodes=nodes, job_resources=None)) == {}


@pytest.mark.parametrize(
    "broken",
    [7, None, [], "job", {}, entry(job_id={"number": "x"}), entry(nodes="n["), entry(start_time="soon")],
)
def test_an_entry_that_cannot_be_read_is_counted(broken: object) -> None:
    found = parse_jobs(json.dumps({"jobs": [broken, entry()]}).encode())
    assert (found.malformed, list(found.running)) == (1, ["4711"])


def test_a_job_that_changes_is_a_fact_and_no_change() -> None:
    before = parse_jobs(json.dumps({"jobs": [entry()]}).encode())
    after = parse_jobs(json.dumps({"jobs": [entry(nodes="node[1-3]")]}).encode())
    (fact,) = facts(before.running, after, 5, "slurm")
    assert (fact.entity, fact.gone) == (after.running["4711"], False)
    assert changes(before.running, after, 5) == []


@pytest.mark.parametrize(
    ("end_s", "expected_s"),
    [(1700000300, 1700000300), (0, 1700000500), (1700000900, 1700000500)],  # unknown, and ahead of our clock: now
)
def test_the_end_of_a_job_is_slurm_s_unless_unknown_or_in_the_future(end_s: int, expected_s: int) -> None:
    running = parse_jobs(json.dumps({"jobs": [entry()]}).encode())
    done = parse_jobs(json.dumps({"jobs": [entry(job_state="COMPLETED", end_time=end_s)]}).encode())
    (ended,) = changes(running.running, done, 1700000500 * S)
    assert ended.starts_ns == expected_s * S
    assert ended.id == f"job_end/4711/{expected_s}"


def test_the_summary_names_job_and_user_as_far_as_they_are_known() -> None:
    unnamed = parse_jobs(json.dumps({"jobs": [entry(name="", user_name=None)]}).encode())
    (started,) = changes({}, unnamed, 5)
    assert (started.summary, started.author) == ("4711 of somebody starts", "")
