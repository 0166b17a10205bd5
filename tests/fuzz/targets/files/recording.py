"""A recording whose manifest fits what somebody put into its files: any manifest, and any rows as Parquet.

Parquet that polars did not write is no input: its reader ends the process for some. It sees files alone whose SHA-256
is in the manifest, so this takes somebody who writes both.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path

import orjson
import polars as pl

from common.errors import BadInput
from recordings.format import SCHEMAS
from tests.unit.recordings.small_recording import everything, write

_FOLDER = Path(tempfile.mkdtemp(prefix="fabricscope-fuzz-"))
_GOOD, _FORGED = _FOLDER / "good", _FOLDER / "forged"
write(_GOOD)
_FILES = sorted(path.relative_to(_GOOD) for path in _GOOD.rglob("*.parquet"))


def _rows(file: Path) -> bytes:
    rows = pl.read_parquet(_GOOD / file).rows()
    return orjson.dumps(rows, default=lambda value: value.decode("latin-1"))


SEEDS = (
    b"m" + (_GOOD / "manifest.json").read_bytes(),
    *(bytes([place]) + _rows(file) for place, file in enumerate(_FILES)),
)
EXECUTIONS = 60


def target(data: bytes) -> None:
    """The first byte says which file the others are: the manifest, or the rows of a table as JSON."""
    shutil.copytree(_GOOD, _FORGED, dirs_exist_ok=True)
    if data[:1] == b"m":
        (_FORGED / "manifest.json").write_bytes(data[1:])
    elif not data or not _put_rows(_FILES[data[0] % len(_FILES)], data[1:]):
        return
    try:
        everything(_FORGED)
    except BadInput:
        return


def _put_rows(file: Path, content: bytes) -> bool:
    """False for what is no rows of this table."""
    schema = SCHEMAS[file.name]
    try:
        rows = [
            [
                value.encode("latin-1") if of == pl.Binary() else value
                for value, of in zip(row, schema.values(), strict=True)
            ]
            for row in orjson.loads(content)
        ]
        pl.DataFrame(rows, schema, orient="row").write_parquet(_FORGED / file)
    except (ValueError, TypeError, AttributeError, OverflowError, pl.exceptions.PolarsError):
        return False
    document = orjson.loads((_FORGED / "manifest.json").read_bytes())
    for part in document["slices"]:
        for entry in part["files"]:
            if (part["name"], entry["name"]) == (file.parent.name, file.name):
                written = (_FORGED / file).read_bytes()
                entry |= {"sha256": hashlib.sha256(written).hexdigest(), "bytes": len(written), "rows": len(rows)}
    (_FORGED / "manifest.json").write_bytes(orjson.dumps(document))
    return True
