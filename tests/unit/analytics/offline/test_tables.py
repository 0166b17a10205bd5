"""Bytes of a pipe, opened, as UTF-8 and cut where records end."""

import gzip
import os
import zlib
from io import FileIO
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.offline.tables import blocks
from common.errors import BadInput

RECORDS = st.lists(st.sampled_from([b"1,2\n", b'1,"a\nb"\n', b'1,"say ""x"""\r\n', b"\n"]), max_size=20)


def through_a_pipe(pieces: list[bytes], rows_first: int) -> list[bytes]:
    reading, writing = os.pipe()

    def write() -> None:
        with FileIO(writing, "w") as file:
            for piece in pieces:
                file.write(piece)

    writer = Thread(target=write)
    writer.start()
    with open(reading, "rb") as file:
        found = list(blocks(file, rows_first))
    writer.join()
    return found


@given(RECORDS, st.integers(1, 30), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_nothing_is_lost_and_no_record_is_cut(records, rows_first, size):
    content = b"".join(records)
    found = through_a_pipe([content[at : at + size] for at in range(0, len(content), size)], rows_first)
    assert b"".join(found) == content
    assert all(block.endswith(b"\n") and block.count(b'"') % 2 == 0 for block in found)


@pytest.mark.parametrize("content", [b"", b"1,2", b'1,"never closed\n'])
def test_what_is_left_comes_last(content):
    assert b"".join(through_a_pipe([content], 1)) == content


def test_the_first_block_has_as_many_lines_as_are_asked_for():
    assert through_a_pipe([b"1,2\n"] * 50, 50)[0].count(b"\n") == 50


TEXT = "time,value\n" + "".join(f"{row},ü\n" for row in range(5000))


@pytest.mark.parametrize("size", [7, 4096, 1_000_000])
@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        gzip.compress(TEXT.encode(), mtime=0),
        gzip.compress(TEXT.encode("utf-16"), mtime=0),
        gzip.compress(TEXT[:999].encode(), mtime=0) + gzip.compress(TEXT[999:].encode(), mtime=0),
    ],
    ids=["utf-8", "utf-16", "utf-16-be", "gzip", "gzip of utf-16", "two of gzip"],
)
def test_any_encoding_is_utf8_inside(content, size):
    found = through_a_pipe([content[at : at + size] for at in range(0, len(content), size)], 1)
    assert b"".join(found).decode() == TEXT


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "gzip"),
        (gzip.compress(TEXT.encode(), mtime=0)[:50] + b"junk" * 9, "gzip"),
        (TEXT.encode("utf-16")[:-1], "utf16"),
    ],
)
def test_what_is_damaged(content, reason):
    with pytest.raises(BadInput) as error:
        through_a_pipe([content], 1)
    assert error.value.reason == reason


def test_a_row_of_gzip_is_there_when_it_comes():
    packer = zlib.compressobj(wbits=31)
    reading, writing = os.pipe()
    with open(reading, "rb") as file, FileIO(writing, "w") as pipe:
        found = blocks(file, 1)
        for row in (b"1,2\n", b"3,4\n"):
            pipe.write(packer.compress(row) + packer.flush(zlib.Z_SYNC_FLUSH))
            assert next(found) == row
