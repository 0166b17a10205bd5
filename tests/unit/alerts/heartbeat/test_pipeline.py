"""Whether incidents can come at all."""

import pytest

from alerts.heartbeat.pipeline import SILENT_S, STANDS_STILL_S, Pipeline
from telemetry.ledger import StageReport

INGEST = StageReport("ingest", "ingest-0", 1, 1)


def analytics(watermark_s: float, instance: str = "analytics-0") -> StageReport:
    return StageReport("analytics", instance, 1, 1, details={"watermark_seconds": watermark_s})


def heard(*reports: tuple[float, StageReport]) -> Pipeline:
    pipeline = Pipeline()
    for at_s, report in reports:
        pipeline.add(report, at_s)
    return pipeline


@pytest.mark.parametrize(
    ("reports", "now_s", "reason"),
    [
        ([], 0, "no report of ingest yet"),
        ([(0, INGEST)], 0, "no report of analytics yet"),
        ([(0, INGEST), (0, analytics(5))], SILENT_S, None),
        ([(0, INGEST), (5, analytics(5))], SILENT_S + 1, "no report of ingest for 61 s"),
        ([(5, INGEST), (0, analytics(5))], SILENT_S + 1, "no report of analytics for 61 s"),
        ([(0, INGEST), (0, StageReport("analytics", "a", 1, 1))], 0, "analytics reports no watermark"),
    ],
)
def test_ingest_and_analytics_report(reports, now_s, reason):
    assert heard(*reports).blind(now_s) == reason


def test_a_watermark_that_stands_still_is_noticed_and_one_that_moves_again_too():
    still = [(at_s, each) for at_s in range(0, 200, 10) for each in (INGEST, analytics(5))]
    pipeline = heard(*still)
    assert pipeline.blind(STANDS_STILL_S) is None
    assert pipeline.blind(190) == "the watermark of analytics has not moved for 190 s"
    pipeline.add(analytics(6), 191)
    assert pipeline.blind(191) is None


def test_a_watermark_moves_also_when_the_clocks_went_back():
    pipeline = heard((0, INGEST), (0, analytics(5000)), (190, INGEST), (190, analytics(10)))
    assert pipeline.blind(190) is None


def test_other_stages_are_not_asked_for():
    assert heard((0, StageReport("export", "e", 1, 1))).blind(0) == "no report of ingest yet"
