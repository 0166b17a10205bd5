"""A damaged position: what can be read is kept, the rest is read from the bus again."""

import random
import shutil
from pathlib import Path

from export.remote_write.position import Position
from telemetry import topics
from telemetry.codec.records import encode_record
from tests.unit.common.sqlite.things import flip
from tests.unit.export.test_state_series import finding


def used_position(folder: Path) -> list[bytes]:
    """A position with many states; returns them."""
    position = Position(folder, "default")
    position.open()
    states = {f"finding/{number:02}": encode_record(finding(finding_id=f"{number:02}")) for number in range(30)}
    offsets = {(topic.name, 0): 7 for topic in (topics.SAMPLES, topics.FINDINGS, topics.INCIDENTS)}
    position.save(offsets, {}, dict(states))
    position.close()
    return list(states.values())


def test_a_bit_that_flips_in_a_position_repeats_and_loses_nothing(tmp_path):
    states = used_position(tmp_path / "sound")
    file = tmp_path / "damaged" / "default.sqlite"
    chance = random.Random(45)
    bits = (tmp_path / "sound" / "default.sqlite").stat().st_size * 8
    lost = 0
    for _ in range(100):
        shutil.rmtree(file.parent, ignore_errors=True)
        shutil.copytree(tmp_path / "sound", file.parent)
        flip(file, chance.randrange(bits))
        position = Position(file.parent, "default")
        position.open()
        offsets, kept = position.load()
        assert set(offsets.values()) <= {7}
        assert [each for each in states if each in kept] == kept
        if (len(offsets), kept) != (3, states):
            lost += 1
            assert position.damage is not None
            assert "default.sqlite was damaged" in str(position.problem())
        if kept != states:
            assert not {topic for topic, _ in offsets} & {topics.FINDINGS.name, topics.INCIDENTS.name}, "read again"
        position.close()
    assert lost > 10
