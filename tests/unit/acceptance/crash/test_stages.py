"""The ledger is compared with what is on the bus."""

import json

import pytest

from tests.acceptance.crash.evidence.batches import RawBatch
from tests.acceptance.crash.evidence.records import RawRecord
from tests.acceptance.crash.stages import LEDGER, judge_stages, newest_reports

BUS = [RawBatch("a 1 0", 60, []), RawBatch("a 1 1", 40, []), RawBatch("a 1 1", 40, [])]


def report(stage: str, **counts: object) -> RawRecord:
    zero = {"samples_in": 0, "samples_out": 0, "deduplicated": 0, "held": 0, "dropped": {}}
    return RawRecord(LEDGER, 0, stage.encode(), json.dumps({**zero, "stage": stage, **counts}).encode())


GOOD = report("analytics", samples_in=140, samples_out=90, deduplicated=40, held=7, dropped={"late": 3})


def test_repetitions_count_once():
    verdict = judge_stages(newest_reports([report("analytics", samples_in=9), GOOD]), BUS, BUS)
    assert verdict.passed
    assert verdict.balance == {"analytics": 0}


@pytest.mark.parametrize(
    ("newest", "recorded", "figures"),
    [
        (report("analytics", samples_in=100, samples_out=99), BUS, (1, 0, 0)),
        (report("analytics", samples_in=99, samples_out=99), BUS, (0, 1, 0)),
        (report("analytics", samples_in=101, samples_out=101), BUS, (0, -1, 0)),
        (GOOD, BUS[:1], (0, 0, 40)),
    ],
)
def test_what_does_not_add_up_is_noticed(newest, recorded, figures):
    verdict = judge_stages(newest_reports([newest]), BUS, recorded)
    assert not verdict.passed
    assert (verdict.balance["analytics"], verdict.analytics, verdict.recorder) == figures
