"""Whether damage cuts off the write-ahead log of a file.

SQLite takes the frames up to the first one whose checksum does not fit. So it outlives a write that was torn by a
crash; but a flipped bit in the middle takes back every commit behind it, without a word.
Source: https://www.sqlite.org/fileformat2.html#walformat
"""

import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, pages after a commit or 0, two salts, two checksums
_MAGIC, _BIG_ENDIAN = 0x377F0682, 1


def lost_commits(wal: Path, frames: int) -> str | None:
    """Why commits are lost, None when none is for certain. frames: those that SQLite takes.

    One commit at the end is none: it may not have been written as a whole, and then nobody relied on it.
    """
    if not wal.exists() or (size := wal.stat().st_size) < _HEADER.size + _FRAME.size:
        return None
    with wal.open("rb") as file:
        header = file.read(_HEADER.size)
        magic, _, page_bytes, _, *salts, first, second = _HEADER.unpack(header)
        if magic & ~_BIG_ENDIAN != _MAGIC or _sums(header[:24], magic & _BIG_ENDIAN) != (first, second):
            return "the header of the write-ahead log is damaged"
        frame_bytes = _FRAME.size + page_bytes
        commits = 0
        for start in range(_HEADER.size + frames * frame_bytes, size - frame_bytes + 1, frame_bytes):
            file.seek(start)
            _, pages, *found, _, _ = _FRAME.unpack(file.read(_FRAME.size))
            commits += pages > 0 and found == salts
    return f"the write-ahead log is damaged behind frame {frames}: {commits} commits are lost" if commits > 1 else None


def _sums(content: bytes, big_endian: int) -> tuple[int, int]:
    first = second = 0
    words = struct.unpack(f"{'>' if big_endian else '<'}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
