"""The SXids of the NVSwitches of one host, by switch, code and link. Pure.

What appears after the start begins with 0 in one reading, as with XIDs: a count at first sight shows no increase.
"""

from collections.abc import Iterable, Mapping

from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.kernel_log.records import Sxid

SERIES_MAX = 512  # of one host


class HostSxids:
    """labels: of all that is counted."""

    def __init__(self, labels: Mapping[str, str] | None = None) -> None:
        self._labels = labels or {}
        self._counts: dict[Sxid, int] = {}
        self._counted: set[Sxid] = set()  # those that a reading had

    def add(self, sxid: Sxid, *, before_start: bool = False) -> bool:
        """Whether there is room for it. before_start: it stood in the log before anybody read it."""
        if sxid not in self._counts and len(self._counts) >= SERIES_MAX:
            return False
        self._counts[sxid] = self._counts.get(sxid, 0) + 1
        if before_start:
            self._counted.add(sxid)
        return True

    def reading(self) -> Iterable[SourceSample]:
        """How often there was each."""
        for sxid, count in self._counts.items():
            labels = {
                **self._labels,
                "nvswitch": sxid.switch,
                "sxid": str(sxid.code),
                "severity": "fatal" if sxid.is_fatal else "non_fatal",
                "link": sxid.link,
            }
            yield SourceSample("sxid_errors_total", labels, float(count if sxid in self._counted else 0))
            self._counted.add(sxid)
