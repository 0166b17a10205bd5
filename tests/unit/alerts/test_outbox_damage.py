"""One flipped bit anywhere in the outbox: it opens, no page changes its meaning, and what it costs is said."""

import random
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from alerts.metrics import UndeliveredReason
from alerts.notification import Action
from alerts.outbox_layout import SCHEMA_VERSION
from common.sqlite.tables import Row
from telemetry.incidents import IncidentState
from tests.unit.alerts import outbox_in_use
from tests.unit.alerts.outbox_in_use import Delivered, Page
from tests.unit.common.sqlite.things import flip, overwrite

FLIPS = 300
SEED = 45
PAGE_BITS = 4096 * 8


@dataclass(frozen=True, slots=True)
class Used:
    """An outbox in ``folder``, what was delivered from it, and what a stage delivers that goes on with it."""

    folder: Path
    rows: list[tuple[str, list[Row]]]
    before: Delivered
    after: Delivered


def left(folder: Path, before: Delivered, scratch: Path) -> Used:
    copy_of(folder, scratch)
    outbox = outbox_in_use.opened(scratch)
    rows = outbox_in_use.rows_of(outbox)
    after = outbox_in_use.go_on(outbox)
    outbox.close()
    return Used(folder, rows, before, after)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """Of a process that was stopped."""
    folder = tmp_path_factory.mktemp("used")
    outbox = outbox_in_use.opened(folder)
    before = outbox_in_use.use(outbox)
    outbox.close()
    return left(folder, before, folder.with_name("sound"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Of a process that was killed: the last commits are in the write-ahead log."""
    folder, copy = tmp_path_factory.mktemp("open"), tmp_path_factory.mktemp("killed")
    outbox = outbox_in_use.opened(folder)
    before = outbox_in_use.use(outbox)
    for name in ("outbox.sqlite", "outbox.sqlite-wal"):
        shutil.copy(folder / name, copy / name)
    outbox.close()
    return left(copy, before, copy.with_name("sound-log"))


def copy_of(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to / "outbox.sqlite"


def check(folder: Path, used: Used) -> bool:
    """That the stage goes on, and loses and changes nothing. Returns whether damage was found."""
    outbox = outbox_in_use.opened(folder)
    damage = outbox.damage
    if outbox_in_use.rows_of(outbox) == used.rows:
        outbox.close()
        return damage is not None
    assert damage is not None, "rows are lost without a word"
    assert damage.reason.exists()
    after = outbox_in_use.go_on(outbox)
    assert outbox.pending() == {}
    outbox.close()
    pages, undamaged = {page for _, page in after}, {page for _, page in used.after}
    assert pages <= undamaged | {page for _, page in used.before}, "a page is not as it was decided"
    assert undamaged <= pages, "a page is lost"
    _check_keys(used.before + after)
    _check_ends(used.before + after)
    return True


def _check_keys(delivered: Delivered) -> None:
    """A receiver drops what has a key that it knows: so no key has two meanings."""
    meanings: dict[str, Page] = {}
    for key, page in delivered:
        if key != UndeliveredReason.NEVER_NOTIFIED:
            assert meanings.setdefault(key, page) == page


def _check_ends(delivered: Delivered) -> None:
    """Whoever was notified of an incident learns in the end that it is over."""
    actions = defaultdict[tuple[str, str], list[Action]](list)
    for key, page in delivered:
        if key != UndeliveredReason.NEVER_NOTIFIED:
            actions[page.receiver, page.incident].append(page.action)
    assert {each[-1] for each in actions.values()} == {Action.RESOLVE}


def test_a_bit_that_flips_anywhere_changes_no_page_and_loses_none(used, tmp_path):
    bits = (used.folder / "outbox.sqlite").stat().st_size * 8
    chance = random.Random(SEED)
    places = [chance.randrange(bits) for _ in range(FLIPS)]
    # one page in so many holds the header and the schema, and each page begins with its own header
    places += [chance.randrange(PAGE_BITS) for _ in range(FLIPS // 4)]
    places += [chance.randrange(bits // PAGE_BITS) * PAGE_BITS + bit for bit in range(0, 12 * 8, 3)]
    found = 0
    for place in places:
        flip(copy_of(used.folder, tmp_path / "damaged"), place)
        found += check(tmp_path / "damaged", used)
    assert found > len(places) // 4, "a large part of the file is rows"


def test_a_bit_that_flips_in_the_log_of_a_killed_process_gives_no_key_two_meanings(killed, tmp_path):
    bits = (killed.folder / "outbox.sqlite-wal").stat().st_size * 8
    chance = random.Random(SEED)
    # of an incident that is over, a stage that has forgotten its page sends nobody the end
    over = {each.id for each in outbox_in_use.on_the_bus() if each.state is IncidentState.RESOLVED}
    reported = 0
    for place in (chance.randrange(bits) for _ in range(FLIPS // 6)):
        flip(copy_of(killed.folder, tmp_path / "damaged").with_name("outbox.sqlite-wal"), place)
        outbox = outbox_in_use.opened(tmp_path / "damaged")
        reported += outbox.damage is not None
        # commits that are lost are decided again, from the newest versions on the bus
        after = outbox_in_use.go_on(outbox)
        outbox.close()
        _check_keys(killed.before + after)
        _check_ends([(key, page) for key, page in killed.before + after if page.incident not in over])
        assert {page.incident for _, page in killed.after} - over <= {page.incident for _, page in after}
    assert reported > FLIPS // 12


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"no database" * 1000])
def test_a_file_that_is_no_database_costs_what_is_not_on_the_bus(used, tmp_path, content):
    copy_of(used.folder, tmp_path / "damaged").write_bytes(content)
    outbox = outbox_in_use.opened(tmp_path / "damaged")
    assert outbox.damage is not None
    after = outbox_in_use.go_on(outbox)
    outbox.close()
    paged = {page.incident for _, page in after if page.action is Action.FIRE}
    assert {"shown-0", "half-0", "worse-0", "waits-0", "held-0", "new"} <= paged
    _check_keys(used.before + after)


@pytest.mark.parametrize(
    ("statement", "lost"),
    [
        ("UPDATE incidents SET tracked = replace(tracked, 'WARN', 'warn')", "incidents"),
        ("UPDATE deliveries SET receiver = 'hook' WHERE receiver = 'am'", "deliveries"),
        ("UPDATE deliveries SET created_ns = 0", "deliveries"),
        ("UPDATE delivered SET open = 1 - open", "delivered"),
        ("UPDATE offsets SET next = next + 1", "offsets"),
        ("UPDATE moment SET stage_ns = 0", "moment"),
        (f"PRAGMA user_version = {SCHEMA_VERSION + 1}", None),
        ("DROP INDEX deliveries_by_severity", None),
        ("ALTER TABLE incidents RENAME TO incidentz", None),
    ],
)
def test_what_one_table_lost_is_taken_from_the_others_and_the_bus(used, tmp_path, statement, lost):
    overwrite(copy_of(used.folder, tmp_path / "damaged"), statement)
    assert check(tmp_path / "damaged", used)
    (reason,) = tmp_path.glob("damaged/outbox.sqlite.damaged-*.txt")
    assert lost is None or f"{lost}: the checksum of row" in reason.read_text()


def test_damage_is_said_until_the_damaged_file_is_taken_away(used, tmp_path):
    overwrite(copy_of(used.folder, tmp_path / "damaged"), "UPDATE offsets SET next = 0")
    for _ in range(2):  # also after a restart
        outbox = outbox_in_use.opened(tmp_path / "damaged")
        assert str(outbox.problem()).startswith("outbox.sqlite was damaged: read ")
        outbox.close()
    for each in tmp_path.glob("damaged/*.damaged-*"):
        each.unlink()
    assert outbox.problem() is None
