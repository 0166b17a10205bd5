"""What release 0.1.0 has left in the folder of alerts."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from alerts.outbox import Outbox
from alerts.outbox_layout import SCHEMA_VERSION
from alerts.silence import SilenceStore
from common.errors import ConfigError
from tests.unit.alerts.incident_factory import incident

KEPT = Path(__file__).parents[2] / "data" / "stored" / "0.1.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("outbox.sqlite", "silences.sqlite"):
        shutil.copyfile(KEPT / name, tmp_path / name)
    return tmp_path


def test_the_outbox_of_0_1_0_is_read_and_nothing_is_damaged(folder: Path) -> None:
    outbox = Outbox(folder, reserve_bytes=0, queue_max=10)
    outbox.open()
    assert outbox.offsets() == {("fabricscope.incidents.v1", 0): 7}
    assert {name: tracked.incident for name, tracked in outbox.tracked().items()} == {
        "inc-1": incident(),
        "inc-2": None,
    }
    assert {each.notification.key for each in outbox.heads("am", ())} == {"inc-2:1", "inc-1:2"}
    assert outbox.problem() is None
    outbox.close()


def test_silences_of_0_1_0_are_read(folder: Path) -> None:
    store = SilenceStore(folder)
    (silence,) = store.current(50)
    assert (silence.id, silence.created_by, silence.ends_ns) == ("one", "ada", 100)
    assert not store.pop_damage()


def test_a_newer_version_s_outbox_is_refused_with_its_number(folder: Path) -> None:
    with sqlite3.connect(folder / "outbox.sqlite") as newer:
        newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    newer.close()
    with pytest.raises(ConfigError, match=rf"newer version \({SCHEMA_VERSION + 1}\)"):
        Outbox(folder, reserve_bytes=0, queue_max=10).open()
