"""A spool that an earlier version has written; format 1 is the first one."""

import shutil
from pathlib import Path

from ingest.spool.state_file import FORMAT
from tests.unit.ingest.spool.spooling import SAMPLES, counts, lost, opened, read_all

STORED = Path(__file__).parents[3] / "data" / "stored"


def test_there_is_a_spool_of_each_format() -> None:
    kept = sorted(path.name for path in STORED.glob("spool-format-*"))
    assert kept == [f"spool-format-{number}" for number in range(1, FORMAT + 1)]


def test_what_waits_in_a_spool_of_format_1_is_published_and_nothing_twice(tmp_path: Path) -> None:
    shutil.copytree(STORED / "spool-format-1", tmp_path / "spool")
    store = opened(tmp_path / "spool")
    assert (store.unread.batches, store.unread.samples) == (3, 3 * SAMPLES)
    assert read_all(store) == [2, 3, 4]
    assert lost(store) == {}
    store.save(counts(50))
    store.close()
