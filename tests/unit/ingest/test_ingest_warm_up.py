"""After the warm-up nothing is left to compile: it would block the event loop for seconds."""

import subprocess
import sys

LATER = """
from ingest.collectors.exposition.decode import body
from ingest.collectors.gnmi.decode import decoder as gnmi
from tests.unit.compiled import compiled

for part in (body, gnmi):
    part.warm_up()
before = compiled("ingest")
assert before
from benchmarks.exposition import reader_of
from benchmarks.loads.pages import changed, pages
from tests.unit.ingest.gnmi import test_gnmi_decode as messages

for source, page in pages().values():
    reader = reader_of(source)
    for answer in (page, changed(page), page + b"another_one 1\\n"):
        reader.read(answer, messages.NOW)
decoder = messages.decoder(series_max=2000)
ports = {f"Ethernet{4 * number}": {"SAI_PORT_STAT_IF_IN_OCTETS": str(number)} for number in range(700)}
for _ in range(3):
    found = decoder.decode([messages.of_json("/COUNTERS/Ethernet*", ports)], messages.NOW)
    assert found.values.size == 700
for number in range(700):
    prefix = messages.COUNTERS.replace("Ethernet1", f"Ethernet{number}")
    assert decoder.decode([messages.updates(prefix, in_octets=number)], messages.NOW).values.size == 1
print(sorted(compiled("ingest") - before))
"""


def test_nothing_is_left_to_compile() -> None:
    command = [sys.executable, "-W", "ignore", "-c", LATER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
