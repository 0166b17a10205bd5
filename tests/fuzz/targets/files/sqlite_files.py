"""SQLite files of the stages with damaged bytes: each is opened and read, whatever is left of it."""

import shutil
import tempfile
from pathlib import Path

from alerts.silence import Silence, SilenceStore
from common.errors import ConfigError
from export.remote_write.position import Position
from telemetry.codec.records import encode_record
from tests.unit.alerts.incident_factory import incident
from tests.unit.alerts.outbox_in_use import HELD, opened, use

_FOLDER = Path(tempfile.mkdtemp(prefix="fabricscope-fuzz-"))
_GOOD, _DAMAGED = _FOLDER / "good", _FOLDER / "damaged"
_FILES = ("outbox.sqlite", "silences.sqlite", "position.sqlite")
_PATCH_BYTES = 4
SEEDS = (b"\0\0\0\1\xff", b"\1\0\x10\0\0", b"\2\0\x30\1\x80\0\x31\2\1", b"\0\x10\5\5\5", b"\0\0\x10\7\7\0\x50\0\0")
EXECUTIONS = 20


def _write_good() -> None:
    outbox = opened(_GOOD)
    use(outbox)
    outbox.close()
    SilenceStore(_GOOD).add(HELD)
    position = Position(_GOOD, "position")
    position.open()
    position.save({("fabricscope.samples.v1", 0): 7}, {}, {"inc-1": encode_record(incident())})
    position.close()


_write_good()


def target(data: bytes) -> None:
    """The first byte says which file; then each four bytes are a place, as a number of 24 bits, and what is there."""
    shutil.rmtree(_DAMAGED, ignore_errors=True)
    shutil.copytree(_GOOD, _DAMAGED)
    file = _FILES[(data[0] if data else 0) % len(_FILES)]
    content = bytearray((_DAMAGED / file).read_bytes())
    for at in range(1, len(data) - _PATCH_BYTES + 1, _PATCH_BYTES):
        content[int.from_bytes(data[at : at + 3], "big") % len(content)] = data[at + 3]
    (_DAMAGED / file).write_bytes(content)
    try:
        _read(file)
    except ConfigError as error:
        if "newer version" not in str(error):
            raise


def _read(file: str) -> None:
    if file == "outbox.sqlite":
        outbox = opened(_DAMAGED)
        try:
            outbox.offsets(), outbox.epochs(), outbox.tracked(), outbox.moment(), outbox.pending()
            for receiver in ("am", "hook"):
                outbox.heads(receiver, ())
                outbox.open_alerts(receiver)
        finally:
            outbox.close()
    elif file == "silences.sqlite":
        assert all(isinstance(each, Silence) for each in SilenceStore(_DAMAGED).current(0))
    else:
        position = Position(_DAMAGED, "position")
        position.open()
        try:
            position.load(), position.load_epochs()
        finally:
            position.close()
