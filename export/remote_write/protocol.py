"""Versions of remote write, and what a request of each says about itself."""

from collections.abc import Mapping
from enum import StrEnum
from importlib.metadata import version

_USER_AGENT = f"Fabricscope/{version('fabricscope')}"  # RFC 9110: product and version
WRITTEN = "X-Prometheus-Remote-Write-{}-Written"
_KINDS = ("Samples", "Histograms", "Exemplars")


class Version(StrEnum):
    FIRST = "1.0"
    SECOND = "2.0"


_TYPES = {
    Version.FIRST: ("application/x-protobuf", "0.1.0"),
    Version.SECOND: ("application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"),
}


def headers_of(of: Version) -> dict[str, str]:
    """Those that the protocol reserves, but for who signs in."""
    content_type, number = _TYPES[of]
    return {
        "Content-Encoding": "snappy",
        "Content-Type": content_type,
        "User-Agent": _USER_AGENT,
        "X-Prometheus-Remote-Write-Version": number,
    }


def samples_written(headers: Mapping[str, str]) -> int | None:
    """How many samples a receiver of 2.0 says it has written; None when it says nothing at all, as one of 1.0.

    >>> samples_written({WRITTEN.format("Samples"): "7"}), samples_written({WRITTEN.format("Exemplars"): "0"})
    (7, 0)
    >>> samples_written({"Date": "today"}) is None
    True
    """
    if not any(WRITTEN.format(kind) in headers for kind in _KINDS):
        return None
    text = headers.get(WRITTEN.format("Samples"), "0").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
