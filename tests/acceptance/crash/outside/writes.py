"""``python -m tests.acceptance.crash.outside.writes JOURNAL``: a remote-write receiver that counts.

snappy and protobuf are unpacked by their public libraries. Journal: ``[seconds, device, interface, milliseconds,
value]`` for each sample of a numbered page; ends of series are left out.
"""

import sys
import time
from collections.abc import Mapping
from math import isnan
from pathlib import Path

from tests.acceptance.crash.outside.journal import Journal
from tests.acceptance.crash.outside.serving import serve
from tests.unit.export.prompb import decode


def _write(journal: Journal, _path: str, _headers: Mapping[str, str], body: bytes) -> None:
    at = time.monotonic()
    for pairs, samples in decode(body):
        labels = dict(pairs)
        interface = next((value for value in labels.values() if value.startswith("eth")), "")
        if labels.get("device", "").startswith("numbered") and interface:
            for value, time_ms in samples:
                if not isnan(value):
                    journal.write([at, labels["device"], interface, time_ms, value])


if __name__ == "__main__":
    serve(Path(sys.argv[1]), _write)
