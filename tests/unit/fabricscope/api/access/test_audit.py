"""The audit log: one line a change, whole, bounded, and harmless to read."""

import json
import multiprocessing
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from common.errors import Unavailable
from fabricscope.api.access.audit import FILES_MAX, AuditEntry, AuditLog
from tests.hostile_texts import HOSTILE_TEXTS
from tests.waiting import DEADLINE_S

AT_NS = 1_700_000_000_123_456_789


def entry(number: int = 0, **details: str) -> AuditEntry:
    return AuditEntry(AT_NS, "ci", "ab12cd34", "10.0.0.7", f"POST /{number}", "201", details)


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_says_who_what_when_and_with_what_result(tmp_path):
    AuditLog(tmp_path).append(entry(change="drain of device:node1"))
    (line,) = lines(tmp_path / "audit.jsonl")
    assert line == {
        "at": "2023-11-14T22:13:20.123Z",
        "who": "ci",
        "token": "ab12cd34",
        "address": "10.0.0.7",
        "action": "POST /0",
        "result": "201",
        "change": "drain of device:node1",
    }


def test_lines_are_appended_and_only_the_owner_reads_them(tmp_path):
    log = AuditLog(tmp_path / "api")
    for number in range(3):
        log.append(entry(number))
    assert [line["action"] for line in lines(log.file)] == ["POST /0", "POST /1", "POST /2"]
    assert stat.S_IMODE(log.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.file.parent.stat().st_mode) == 0o700


def test_the_oldest_file_goes_when_all_are_full(tmp_path):
    log = AuditLog(tmp_path, file_bytes_max=len(entry(1000).line()) * 4)
    for number in range(1000, 1100):
        log.append(entry(number))
    files = [tmp_path / "audit.jsonl", *(tmp_path / f"audit.jsonl.{n}" for n in range(1, FILES_MAX))]
    assert {path for path in tmp_path.iterdir() if path.suffix != ".lock"} == set(files)
    kept = [line["action"] for path in reversed(files) for line in lines(path)]
    assert kept == [f"POST /{number}" for number in range(1100 - len(kept), 1100)]
    assert len(kept) == 4 * FILES_MAX
    assert max(path.stat().st_size for path in files) <= len(entry(1000).line()) * 4


def write_many(folder: str, who: int) -> None:
    log = AuditLog(Path(folder), file_bytes_max=20_000)
    for number in range(100):
        log.append(entry(who * 1000 + number))


def test_several_processes_lose_no_line(tmp_path):
    workers = [multiprocessing.get_context("spawn").Process(target=write_many, args=(str(tmp_path), n)) for n in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    found = [line["action"] for path in tmp_path.glob("audit.jsonl*") for line in lines(path)]
    assert sorted(found) == sorted(f"POST /{who * 1000 + number}" for who in (1, 2) for number in range(100))


def test_every_hostile_text_is_a_value_of_one_line(tmp_path):
    log = AuditLog(tmp_path)
    for text in HOSTILE_TEXTS:
        log.append(entry(change=text))
    written = log.file.read_text()
    assert [line["action"] for line in lines(log.file)] == ["POST /0"] * len(HOSTILE_TEXTS)
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & set(written)


def test_no_value_acts_on_a_terminal_forges_a_line_or_shows_a_password(tmp_path):
    log = AuditLog(tmp_path)
    log.append(entry(change="\x1b[31m\r\n\x9b{}\u202e http://carol:s3cret@host/ \ud800"))
    text = log.file.read_bytes()
    assert text.count(b"\n") == 1
    assert b"s3cret" not in text
    assert lines(log.file)[0]["change"] == "\\u001b[31m\\u000d\\u000a\\u009b{}\\u202e http://***@host/ ?"


def test_a_line_has_a_bound(tmp_path):
    log = AuditLog(tmp_path)
    log.append(entry(change="x" * 1_000_000))
    assert log.file.stat().st_size < 3000


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    log = AuditLog(tmp_path / "file" / "api")
    for act in (log.check, lambda: log.append(entry())):
        with pytest.raises(Unavailable, match=r"audit log .*audit\.jsonl: Not a directory"):
            act()


FULL_DISK = """
import resource, sys
from pathlib import Path
from common.errors import Unavailable
from fabricscope.api.access.audit import AuditEntry, AuditLog

log = AuditLog(Path(sys.argv[1]))
for number in (1, 2):
    if number == 2:  # room for ten bytes more
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.file.stat().st_size + 10, resource.RLIM_INFINITY))
    try:
        log.append(AuditEntry(0, "ci", "", "", f"POST /{number}", "201"))
    except Unavailable as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.append(AuditEntry(0, "ci", "", "", "POST /3", "201"))
"""


def test_a_disk_without_room_is_named_and_no_half_line_stays(tmp_path):
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert answer.stdout.startswith(f"audit log {tmp_path}/audit.jsonl: ")
    assert [line["action"] for line in lines(tmp_path / "audit.jsonl")] == ["POST /1", "POST /3"]
