"""After the warm-up nothing is left to compile: it would block the event loop for seconds."""

import subprocess
import sys

LATER = """
from ingest.warm_up import warm_up
from tests.unit.compiled import compiled

warm_up()
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
from ingest.collectors.kafka_topics.decode.fields import Lines
from ingest.collectors.kafka_topics.decode.responses import Responses
from tests.servers.telegraf import messages as of_telegraf
from tests.unit.ingest.kafka_topics import test_gnmic_scans, test_scans
from tests.unit.ingest.remote_write import test_remote_write_body as bodies

for make, sent in ((test_scans.LineReader, of_telegraf("influx")), (test_scans.JsonReader, of_telegraf("json"))):
    of = test_scans.reader(make)
    for _ in range(2):
        of.read_all(sent, Lines())
for of, one in (
    (test_gnmic_scans.EventReader(), test_gnmic_scans.EVENT),
    (test_gnmic_scans.JsonReader(), test_gnmic_scans.NOTIFICATION),
):
    for _ in range(2):
        of.read_all([one, one], Responses())
bodies.reader().read_together(of_telegraf("prometheusremotewrite"))
print(sorted(compiled("ingest") - before))
"""


def test_nothing_is_left_to_compile() -> None:
    command = [sys.executable, "-W", "ignore", "-c", LATER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
