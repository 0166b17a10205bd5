"""Puts a new file in the place of a damaged one, which is kept beside it with the reason. Blocking.

A crash at any point leaves the damaged file in its place, or is finished by the next ``finish``.
"""

import glob
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from common.sqlite.examination import wal_of
from common.sqlite.layout import Layout, Rows

KEPT_MAX = 5  # of one file; the oldest goes first, so that a disk that goes on damaging it does not fill up
_REASON = ".txt"


def replace(file: Path, layout: Layout, rows: Rows, kept: Path | None) -> None:
    """kept: where the old file goes, None to give it up. OSError and sqlite3.Error leave the old one in its place."""
    part = _part(file)
    part.unlink(missing_ok=True)
    try:
        layout.write(part, rows)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(part)
    if kept is not None:
        file.rename(kept)
    else:
        file.unlink()
    # without a file in the place, the part is complete
    finish(file)


def finish(file: Path) -> None:
    """Ends a replacement that a crash interrupted; nothing when there is none."""
    part = _part(file)
    if file.exists():
        part.unlink(missing_ok=True)  # it may not be complete
    if not part.exists():
        return
    wal_of(file).unlink(missing_ok=True)  # it belongs to the old file, and would be taken for one of the new
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    part.rename(file)
    _sync(file.parent)


def place_for(file: Path, now_ns: int) -> Path:
    """A name that no file has, with the time; names sort by it."""
    stem = f"{file.name}.damaged-{datetime.fromtimestamp(now_ns / 1e9, UTC):%Y%m%dT%H%M%S}"
    taken = file.parent.glob(f"{glob.escape(stem)}-[0-9][0-9][0-9]*")  # with their reasons and logs
    number = max((int(path.name[len(stem) + 1 :][:3]) for path in taken), default=0) + 1  # none that was given up
    return file.with_name(f"{stem}-{number:03}")


def write_reason(kept: Path, reasons: Sequence[str]) -> Path:
    """Beside the file that was set aside; the oldest beyond KEPT_MAX are deleted with theirs."""
    path = kept.with_name(kept.name + _REASON)
    path.write_text("\n".join([f"{kept.name} was set aside as it is damaged:", *reasons, ""]), errors="replace")
    stem = kept.name.rpartition(".damaged-")[0]
    for old in set_aside(kept.with_name(stem))[:-KEPT_MAX]:
        for each in (old.with_suffix(""), wal_of(old.with_suffix("")), old):
            each.unlink(missing_ok=True)
    return path


def set_aside(file: Path) -> list[Path]:
    """The reasons of the damaged files that are kept beside it, oldest first."""
    return sorted(file.parent.glob(f"{glob.escape(file.name)}.damaged-*{_REASON}"))


def problem_of(file: Path) -> str | None:
    """That damaged files lie beside it, in words."""
    kept = set_aside(file)
    return f"{file.name} was damaged: read {kept[-1]}, then take the damaged files away" if kept else None


def _part(file: Path) -> Path:
    return file.with_name(f"{file.name}.part")


def _sync(path: Path) -> None:
    """To the disk: a file's content, or the names in a folder."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
