"""The zstd dictionaries of sample batches, one for each format: names of metrics and labels, which are half of a table.

They never change, as what was written with one can be read with that one alone: another dictionary is another format.
That of FSB2 has what the catalogue knew when the format was defined, then that of FSB1.
"""

from functools import cache
from importlib.resources import files
from typing import Final

import zstandard

FORMAT: Final = b"FSB2"
_FILES = {b"FSB1": "fsb1.dict", FORMAT: "fsb2.dict"}
FORMATS: Final = tuple(_FILES)
TABLE_LEVEL: Final = 15  # higher ones take longer and save 2 % at most
_STREAM_BYTES = 1192


@cache
def of_tables(written_as: bytes = FORMAT) -> zstandard.ZstdCompressionDict:
    """For tables of one of ``FORMATS``."""
    return _dictionary(_bytes(written_as))


@cache
def of_small_tables() -> zstandard.ZstdCompressionDict:
    """The same for writing at ``TABLE_LEVEL``: indexed once, which takes longer than a small table does."""
    found = _dictionary(_bytes(FORMAT))
    found.precompute_compress(level=TABLE_LEVEL)
    return found


@cache
def of_samples() -> zstandard.ZstdCompressionDict:
    """The end of each dictionary: the bytes around the columns of an Arrow stream. Indexed for level 1."""
    found = _dictionary(_bytes(FORMAT)[-_STREAM_BYTES:])
    found.precompute_compress(level=1)
    return found


def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def _bytes(written_as: bytes) -> bytes:
    return files("telemetry.codec").joinpath(_FILES[written_as]).read_bytes()
