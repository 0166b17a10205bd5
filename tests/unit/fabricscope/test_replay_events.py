"""A recording gives the same events, byte for byte, however often and in which portions it runs again."""

from pathlib import Path

from analytics.config import EngineConfig
from fabricscope.replay import replay
from recordings.format import RecordedBatch
from recordings.manifest import Manifest
from recordings.writer import RecordingWriter
from telemetry.codec.records import decode_record
from telemetry.events import Event, EventKind, EventState
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import CONFIG, batch, clockwork, port_key, table

ROUNDS = 40
SWITCH = table(
    "leaf1",
    [
        port_key("fabric_port_up"),
        port_key("fabric_port_flaps_total"),
        series_key("fabric_device_uptime_seconds", {"device": "leaf1"}),
        port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx"),
    ],
)


def values(number: int) -> list[float]:
    """The link is down in one reading, bounces ten later, and the switch reboots ten after that."""
    flaps = 2.0 * (number > 5) + 2.0 * (number > 15)
    uptime_s = 5000.0 + 10 * number if number < 26 else 10.0 * (number - 26) + 4
    return [float(number != 5), flaps if number < 26 else 0.0, uptime_s, float(number > 30)]


def recorded(path: Path) -> None:
    writer = RecordingWriter(path, Manifest(cluster="pod1"))
    for number in range(ROUNDS):
        one = batch(SWITCH, number, values(number))
        writer.add_batch(RecordedBatch(0, one.collection.collected_ns, one))
        if number % 15 == 14:
            writer.close_slice({}, ())
    for one in clockwork(0, range(ROUNDS, ROUNDS + 2)):
        writer.add_batch(RecordedBatch(0, one.collection.collected_ns, one))
    writer.close_slice({}, ())


def events_of(recording: Path, out: Path, config: EngineConfig, chunk: int) -> bytes:
    replay(recording, out, config, chunk=chunk)
    return (out / "events.jsonl").read_bytes()


def test_a_recording_gives_the_same_events_byte_for_byte(tmp_path: Path) -> None:
    recorded(tmp_path / "recording")
    first, *others = (
        events_of(tmp_path / "recording", tmp_path / str(size), CONFIG, size) for size in (200, 200, 7, 1)
    )
    assert others == [first] * 3
    events = [decode_record(line, Event) for line in first.splitlines()]
    assert {each.kind for each in events if each.state is EventState.ENDED} == {
        EventKind.LINK_DOWN,
        EventKind.LINK_BOUNCED,
        EventKind.REBOOT,
        EventKind.PFC_PAUSE,
    }
    assert sum(each.kind is EventKind.LINK_BOUNCED and each.state is EventState.ENDED for each in events) == 1
