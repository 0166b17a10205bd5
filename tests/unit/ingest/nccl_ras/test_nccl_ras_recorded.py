"""What NCCL 2.28.9 answered, while one of four ranks was late, stopped, given up and killed: tests/data/nccl_ras."""

from pathlib import Path

import pytest

from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_ras.text_reply import parse_text
from tests.unit.ingest.nccl_ras.test_nccl_ras_replies import show

FOLDER = Path(__file__).parents[3] / "data" / "nccl_ras"
FAILED = 'nccl_host_ranks{device="node1",job_id="7",state="failed"}'
CASES = {
    "healthy": {},
    "mismatch": {
        'nccl_mismatched_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
        'nccl_host_ranks{device="node4",job_id="7",state="mismatched"}': 1.0,
    },
    "stopped": {
        'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
        'nccl_host_ranks{device="node4",job_id="7",state="unresponsive"}': 1.0,
    },
    "dead": {
        'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
        'nccl_host_ranks{device="node4",job_id="7",state="dead"}': 1.0,
    },
    "killed": {
        'nccl_missing_ranks{device="node1",job_id="7",ranks="4"}': 1.0,
        'nccl_host_ranks{device="node4",job_id="7",state="dead"}': 1.0,
        FAILED: 1.0,
    },
}
HOSTS = {f"10.1.0.{number}": f"node{number}" for number in range(1, 5)}
UP = 'nccl_ras_up{device="node1",job_id="7"}'


@pytest.mark.parametrize("name", CASES)
def test_both_formats_name_the_rank_and_its_host(name: str) -> None:
    in_json = show(parse_json((FOLDER / f"{name}.json").read_bytes(), Limits()), **HOSTS)
    in_text = show(parse_text((FOLDER / f"{name}.txt").read_bytes(), Limits()), **HOSTS)
    expected = {UP: 1.0, 'nccl_communicators{device="node1",job_id="7",ranks="4"}': 1.0, **CASES[name]}
    assert in_text == expected
    if name == "stopped":  # the first answer since, for which RAS waited in vain
        del expected[UP]
    assert in_json == expected
