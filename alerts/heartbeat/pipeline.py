"""Whether incidents can come at all: what the stages before this one report. Pure."""

from telemetry.ledger import StageReport

SILENT_S = 60.0
"""A stage reports every few seconds; after this it is away, or the bus is."""
STANDS_STILL_S = 180.0
"""Event time moves with each collection, which no source has further apart."""
_STAGES = ("ingest", "analytics")
_WATERMARK = "watermark_seconds"


class Pipeline:
    """Hears the reports of all stages. Times are monotonic seconds: the hosts' clocks may be what is wrong."""

    def __init__(self) -> None:
        self._heard_s: dict[str, float] = {}
        self._watermark: float | None = None
        self._moved_s = 0.0

    def add(self, report: StageReport, now_s: float) -> None:
        """Of several processes of a stage, one that works is enough."""
        if report.stage not in _STAGES:
            return
        self._heard_s[report.stage] = now_s
        watermark = report.details.get(_WATERMARK)
        if watermark is not None and watermark != self._watermark:
            self._watermark, self._moved_s = watermark, now_s

    def blind(self, now_s: float) -> str | None:
        """None, or why no incident would come whatever happens, in words."""
        for stage in _STAGES:
            heard_s = self._heard_s.get(stage)
            if heard_s is None:
                return f"no report of {stage} yet"
            if now_s - heard_s > SILENT_S:
                return f"no report of {stage} for {now_s - heard_s:.0f} s"
        if self._watermark is None:
            return "analytics reports no watermark"
        if now_s - self._moved_s > STANDS_STILL_S:
            return f"the watermark of analytics has not moved for {now_s - self._moved_s:.0f} s"
        return None
