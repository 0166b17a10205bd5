"""``python -m tests.acceptance.crash.outside.notifications JOURNAL``: webhooks, one for each path.

Journal: ``[path, key, incident, whether it fires, SHA-256 of the body]`` for each notification.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.acceptance.crash.outside.journal import Journal
from tests.acceptance.crash.outside.serving import serve


def _write(journal: Journal, path: str, headers: Mapping[str, str], body: bytes) -> None:
    said = json.loads(body)
    incident, fires = said["groupLabels"]["incident_id"], said["status"] == "firing"
    key = headers.get("x-fabricscope-key", "")
    journal.write([path.strip("/"), key, incident, fires, hashlib.sha256(body).hexdigest()])


if __name__ == "__main__":
    serve(Path(sys.argv[1]), _write)
