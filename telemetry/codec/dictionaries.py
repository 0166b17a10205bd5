"""The zstd dictionary of sample batches: names of metrics and labels, which are half of a table.

It never changes, as what was written with it can be read with it alone: another dictionary is another format. That of
FSB2 has what the catalogue knew when the format was defined, and ends with that of FSB1. Its matches count from the
end, so what was written with the shorter one is read with this one.
"""

from functools import cache
from importlib.resources import files
from typing import Final

import zstandard

FORMAT: Final = b"FSB2"
FORMATS: Final = (b"FSB1", FORMAT)
TABLE_LEVEL: Final = 15  # higher ones take longer and save 2 % at most
_STREAM_BYTES = 1192


@cache
def of_tables() -> zstandard.ZstdCompressionDict:
    """For tables, of any format."""
    return _dictionary(_bytes())


@cache
def of_small_tables() -> zstandard.ZstdCompressionDict:
    """The same for writing at ``TABLE_LEVEL``: indexed once, which takes longer than a small table does."""
    found = _dictionary(_bytes())
    found.precompute_compress(level=TABLE_LEVEL)
    return found


@cache
def of_samples() -> zstandard.ZstdCompressionDict:
    """The end of it: the bytes around the columns of an Arrow stream. Indexed for level 1."""
    found = _dictionary(_bytes()[-_STREAM_BYTES:])
    found.precompute_compress(level=1)
    return found


def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _bytes() -> bytes:
    return files("telemetry.codec").joinpath("fsb2.dict").read_bytes()
