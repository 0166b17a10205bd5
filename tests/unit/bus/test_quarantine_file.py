"""When a process is blamed, and what is left on the disk."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from bus.base import Bus, Record
from bus.quarantine.notes import spans_of
from bus.quarantine.quarantine import Quarantine

RECORDS = [Record("t", 0, offset, 1000, b"k", b"v", {}) for offset in (3, 4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made when missing" / "crashes.json"


def started(path: Path | None) -> Quarantine:
    quarantine = Quarantine(path, cast(Bus, None))  # nothing is put aside here
    quarantine.start()
    return quarantine


@pytest.fixture
def quarantine(path: Path) -> Iterator[Quarantine]:
    opened = started(path)
    yield opened
    opened.stop()


def dies_with(path: Path, error: type[BaseException]) -> None:
    quarantine = started(path)
    with suppress(error), quarantine.working_on(RECORDS):
        raise error
    quarantine.stop()


def test_while_it_works_the_note_names_the_records(path, quarantine):
    with quarantine.working_on(RECORDS):
        assert b'"working":[["t",0,3,4,1000]]' in path.read_bytes()
    assert b'"working":[]' in path.read_bytes()
    with quarantine.working_on([]):
        assert b'"working":[]' in path.read_bytes()


def test_records_from_here_and_there_are_named_one_by_one(path, quarantine):
    assert not quarantine.has_suspects()
    with quarantine.working_on(RECORDS, apart=True):
        assert b'"working":[["t",0,3,3,1000],["t",0,4,4,1000]]' in path.read_bytes()
    assert not quarantine.has_suspects()


def test_an_error_is_blamed_on_the_records_also_where_the_process_still_stops_in_order(path):
    dies_with(path, ZeroDivisionError)
    assert started(path).notes.suspects == spans_of(RECORDS)


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
def test_a_stage_that_is_stopped_at_work_blames_nobody(path, error):
    dies_with(path, error)
    assert not path.exists()


def test_a_step_inside_takes_the_blame_and_gives_it_back(path, quarantine):
    with quarantine.working_on(RECORDS):
        with quarantine.attempt("tick", 60) as allowed:
            assert allowed
            assert b'"working":[["tick",-1,60,60,0]]' in path.read_bytes()
        assert b'"working":[["t",0,3,4,1000]]' in path.read_bytes()


def test_a_step_that_failed_twice_is_skipped_and_reported_once(path):
    for _ in range(2):
        quarantine = started(path)
        with suppress(ZeroDivisionError), quarantine.attempt("tick", 60):
            raise ZeroDivisionError
        quarantine.stop()
    quarantine = started(path)
    with quarantine.attempt("tick", 60) as allowed:
        assert not allowed
    assert "tick 60 ended this stage repeatedly" in (quarantine.problem() or "")
    with quarantine.attempt("tick", 65) as allowed:
        assert allowed
    quarantine.stop()
    quarantine = started(path)
    with quarantine.attempt("tick", 60) as allowed:
        assert not allowed
    assert quarantine.problem() is None
    quarantine.stop()


def test_a_second_process_works_without_notes(path, quarantine):
    second = started(path)
    with second.working_on(RECORDS):
        assert path.read_bytes() == b""
    second.stop()
    assert path.exists()


def test_without_a_file_nothing_is_kept():
    quarantine = started(None)
    with quarantine.working_on(RECORDS):
        pass
    quarantine.stop()
