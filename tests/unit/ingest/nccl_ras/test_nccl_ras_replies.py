"""RAS's replies in JSON and text: the same job gives the same samples, and what is no reply is refused."""

import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_ras.report import Report
from ingest.collectors.nccl_ras.text_reply import parse_text
from tests.samples import SAMPLES

DOCUMENTED = (SAMPLES / "nccl" / "ras_status.json").read_bytes()
RUNNING = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
TEXT = """NCCL version 2.26.2 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          2            1          4        4

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         2         4         4   RUNNING  {errors}

Errors
======

{found}Warnings
========

{warnings}"""


def show(report: Report, **hosts: str) -> dict[str, float]:
    """What is not zero."""
    samples = Values.of(report.samples("7", {address.replace("_", "."): name for address, name in hosts.items()}))
    found = TargetSamples("nccl-ras/node1", "node1", "nccl_ras", 0).read(samples).by_series()
    return {key: value for key, value in found.items() if value}


def rank(number: int, count: int = 640, **status: Any) -> dict[str, Any]:
    """Two on each host."""
    place = {"rank": number, "host": f"10.0.0.{number // 2 + 1}", "pid": 100 + number, "cuda_dev": number % 2}
    return {**place, "status": {**RUNNING, **status}, "collective_counts": {"AllReduce": 3, "AllGather": count}}


def missing(number: int, *, unresponsive: bool, dead: bool) -> dict[str, Any]:
    status = {"unresponsive": unresponsive, "considered_dead": dead}
    return {**rank(number), "status": status}


def in_json(ranks: list[Any], lost: list[Any], timeouts: int = 0, size: int = 4) -> bytes:
    communicator = {"hash": "0x1", "size": size, "ranks": ranks, "missing_ranks": lost}
    return orjson.dumps({"communicators": [communicator], "ras": {"timeouts_count": timeouts}})


def in_text(errors: str = "OK", found: str = "", warnings: str = "") -> bytes:
    return TEXT.format(errors=errors, found=found, warnings=warnings).encode()


def test_the_documented_reply() -> None:
    assert show(parse_json(DOCUMENTED, Limits()), **{"172_16_64_245": "node7"}) == {
        'nccl_ras_up{device="node1",job_id="7"}': 1.0,
        'nccl_communicators{device="node1",job_id="7",ranks="2"}': 1.0,
        'nccl_missing_ranks{device="node1",job_id="7",ranks="2"}': 1.0,
        'nccl_host_ranks{device="node7",job_id="7",state="unresponsive"}': 1.0,
    }


@pytest.mark.parametrize(
    ("json", "text", "up", "found"),
    [
        (in_json([rank(0), rank(1), rank(2), rank(3)], []), in_text(), 1.0, {}),
        (
            in_json([rank(0), rank(1), rank(2), rank(3, 639)], []),
            in_text(
                "MISMATCH",
                "",
                "#0-0 (fa93daea854b060b) MISMATCH\n"
                "  Communicator ranks have different AllGather operation counts\n"
                "  3 ranks have launched up to operation 640\n"
                "  Rank 3 has launched up to operation 639 -- GPU 1 managed by process 103 on node 10.0.0.2\n\n",
            ),
            1.0,
            {
                'nccl_mismatched_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
                'nccl_host_ranks{device="10.0.0.2",job_id="7",state="mismatched"}': 1.0,
            },
        ),
        (
            in_json([rank(0), rank(1), rank(2)], [missing(3, unresponsive=True, dead=False)], timeouts=1),
            in_text(
                "INCOMPLETE",
                "INCOMPLETE\n  Missing communicator data from 1 job process\n"
                "  Process 103 on node 10.0.0.2 managing GPU 1\n\n"
                "#0-0 (fa93daea854b060b) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                "  Rank 3 -- GPU 1 managed by process 103 on node 10.0.0.2\n\n",
                "TIMEOUT\n  Encountered 1 communication timeout while gathering communicator data\n\n",
            ),
            0.0,
            {
                'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
                'nccl_host_ranks{device="10.0.0.2",job_id="7",state="unresponsive"}': 1.0,
            },
        ),
        (
            in_json(
                [rank(0), rank(1)],
                [missing(2, unresponsive=True, dead=True), missing(3, unresponsive=True, dead=True)],
            ),
            in_text(
                "INCOMPLETE",
                "DEAD\n  2 job processes are considered dead (unreachable via the RAS network)\n"
                "  Process 102 on node 10.0.0.2 managing GPU 0\n"
                "  Process 103 on node 10.0.0.2 managing GPU 1 (NVML 5)\n\n"
                "#0-0 (fa93daea854b060b) INCOMPLETE\n  Missing communicator data from 2 ranks\n\n",
            ),
            1.0,
            {
                'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 2.0,
                'nccl_host_ranks{device="10.0.0.2",job_id="7",state="dead"}': 2.0,
            },
        ),
        (
            in_json([rank(0), rank(1), rank(2)], [missing(3, unresponsive=False, dead=False)]),
            in_text(
                "MISMATCH",
                "",
                "#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different status\n"
                "  3 ranks have status RUNNING\n"
                "  Rank 3 has status NOCOMM -- GPU 1 managed by process 103 on node 10.0.0.2\n",
            ),
            1.0,
            {
                'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
                'nccl_mismatched_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
                'nccl_host_ranks{device="10.0.0.2",job_id="7",state="mismatched"}': 1.0,
            },
        ),
        (
            in_json([rank(0), rank(1, async_error=6), rank(2), rank(3)], []),
            in_text(
                "ERROR",
                "#0-0 (fa93daea854b060b) ERROR\n  Asynchronous error on 1 rank\n"
                "  Rank 1 reported Remote process error -- GPU 1 managed by process 101 on node 10.0.0.1\n\n",
            ),
            1.0,
            {'nccl_host_ranks{device="10.0.0.1",job_id="7",state="failed"}': 1.0},
        ),
    ],
    ids=["healthy", "behind", "unresponsive", "dead", "left", "failed"],
)
def test_both_formats_say_the_same(json: bytes, text: bytes, up: float, found: dict[str, float]) -> None:
    expected = {'nccl_communicators{device="node1",job_id="7",ranks="4"}': 1.0, **found}
    if up:
        expected['nccl_ras_up{device="node1",job_id="7"}'] = up
    assert show(parse_json(json, Limits())) == expected
    assert show(parse_text(text, Limits())) == expected


def test_a_rank_that_starts_has_no_status_yet_and_no_error() -> None:
    starting = {**rank(3), "status": None, "collective_counts": None}
    found = show(parse_json(in_json([rank(0), rank(1), rank(2), starting], []), Limits()))
    assert found['nccl_host_ranks{device="10.0.0.2",job_id="7",state="mismatched"}'] == 1.0
    assert not any("failed" in key for key in found)


def test_a_rank_without_a_known_host_is_counted_and_filed_under_no_host() -> None:
    lost = {**missing(3, unresponsive=True, dead=False), "host": "unknown", "pid": -1}
    found = show(parse_json(in_json([rank(0), rank(1), rank(2)], [lost]), Limits()))
    assert found['nccl_missing_ranks{device="node1",job_id="7",ranks="4"}'] == 1.0
    assert not any("unresponsive" in key for key in found)


def test_a_gpu_in_many_communicators_counts_once() -> None:
    document = orjson.loads(in_json([rank(0), rank(1), rank(2)], [missing(3, unresponsive=True, dead=False)]))
    document["communicators"] *= 3
    found = show(parse_json(orjson.dumps(document), Limits()))
    assert found['nccl_missing_ranks{device="node1",job_id="7",ranks="4"}'] == 3.0
    assert found['nccl_host_ranks{device="10.0.0.2",job_id="7",state="unresponsive"}'] == 1.0


def test_halves_that_differ_are_counted_though_the_text_names_no_rank() -> None:
    said = (
        "#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different AllGather operation counts\n"
        "  2 ranks have launched up to operation 641\n  2 ranks have launched up to operation 640\n\n"
    )
    found = show(parse_text(in_text("MISMATCH", "", said), Limits()))
    assert found['nccl_mismatched_ranks{device="node1",job_id="7",ranks="4"}'] == 2.0


@pytest.mark.parametrize(
    ("body", "limits", "reason"),
    [
        (in_json([rank(0), rank(2)], []), Limits(ranks_max=1), "too_large"),
        (in_json([rank(0), rank(2)], [], size=10**9), Limits(), "too_large"),
        (in_json([rank(0), rank(2)], []), Limits(hosts_max=1), "too_many_series"),
        (orjson.dumps({"communicators": [], "ras": {}}), Limits(), "bad_format"),
        (in_json([7], []), Limits(), "bad_format"),
        (in_json([{**rank(0), "status": 5}], []), Limits(), "bad_format"),
        (in_json([rank(0, init_state=[])], []), Limits(), "bad_format"),
        (DOCUMENTED[:-20], Limits(), "bad_format"),
        (b"[]", Limits(), "bad_format"),
    ],
)
def test_what_is_no_reply_in_json_is_refused(body: bytes, limits: Limits, reason: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_json(body, limits)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("body", "limits", "reason"),
    [
        (in_text().partition(b"Warnings")[0], Limits(), "truncated"),
        (b"ERROR: Unknown command\n", Limits(), "bad_format"),
        (b"", Limits(), "bad_format"),
        (in_text().replace(b"    0         1  ", b"    0  99999999  "), Limits(), "too_large"),
    ],
)
def test_what_is_no_reply_in_text_is_refused(body: bytes, limits: Limits, reason: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_text(body, limits)
    assert refused.value.reason == reason


@given(st.binary(max_size=400), st.integers(0, 2000))
def test_any_bytes_are_read_or_refused(data: bytes, place: int) -> None:
    for parse, body in ((parse_json, DOCUMENTED), (parse_text, in_text("MISMATCH"))):
        with contextlib.suppress(BadInput):
            show(parse(body[:place] + data + body[place:], Limits()))
