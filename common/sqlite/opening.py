"""Opens a file that may be missing, of an earlier version or damaged: what comes back is sound. Blocking."""

import contextlib
import dataclasses
import shutil
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from common.errors import ConfigError
from common.sqlite import replacement
from common.sqlite.examination import Condition, connect, examine, wal_of
from common.sqlite.layout import Layout
from common.sqlite.salvage import salvage


class Durability(StrEnum):
    """What a power cut may take."""

    EVERY_COMMIT = "FULL"  # nothing
    NO_FSYNC = "NORMAL"  # the last commits; never the file's consistency


@dataclass(frozen=True, slots=True)
class Damage:
    """What was found when a file was opened. reason: the file that says it, beside the damaged one.

    reasons: in words. rows: damaged rows by table; rows of pages that cannot be read are in no count.
    """

    file: str
    reason: Path
    reasons: tuple[str, ...]
    rows: Mapping[str, int] = field(default_factory=dict)


def open_sound(
    file: Path, layout: Layout, durability: Durability, setting: str
) -> tuple[sqlite3.Connection, Damage | None]:
    """A connection to a file with this layout, and what was damaged before. The caller keeps others from opening it.

    setting: the key of the settings that names its folder. ConfigError when a newer version wrote the file;
    sqlite3.Error and OSError when the machine does not let us.
    """
    replacement.finish(file)
    damage = None
    condition = _examine(file, layout)
    if condition.version is not None and condition.version > layout.version:
        raise ConfigError(f"{setting} {file.parent}: written by a newer version ({condition.version})")
    if condition.reasons or condition.version not in (None, layout.version):
        damage = _rebuild(file, layout, condition)
    database = connect(file)
    try:
        database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {durability}")
        if condition.is_new:
            layout.create(database)
    except BaseException:
        database.close()
        raise
    return database, damage


def _examine(file: Path, layout: Layout) -> Condition:
    if file.exists() and file.stat().st_size == 0:
        return Condition(reasons=("the file is empty",))
    with contextlib.closing(connect(file)) as database:
        condition = examine(database, file, layout)
        if condition.cut_off:  # the last connection that closes deletes it
            shutil.copyfile(wal_of(file), _kept_wal(file))
        return condition


def _rebuild(file: Path, layout: Layout, condition: Condition) -> Damage | None:
    """Creates the file again from what can be read; None when all can."""
    now_ns = time.time_ns()
    salvaged = salvage(file, layout, condition.reasons)
    if condition.cut_off:
        salvaged = dataclasses.replace(salvaged, whole=frozenset())
    if not salvaged.reasons:
        replacement.replace(file, layout, salvaged.rows, None)
        return None
    kept = replacement.place_for(file, now_ns)
    # first, as a crash must not leave a file that was replaced without a word
    reason = replacement.write_reason(kept, salvaged.reasons)
    replacement.replace(file, layout, layout.repair(salvaged, now_ns), kept)
    if condition.cut_off:
        _kept_wal(file).rename(wal_of(kept))
    return Damage(file.name, reason, salvaged.reasons, salvaged.damaged)


def _kept_wal(file: Path) -> Path:
    return file.with_name(f"{file.name}.wal-kept")
