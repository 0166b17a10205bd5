"""Bytes of a file as UTF-8 text, whatever they came as: gzip and UTF-16 are known by their first bytes."""

import codecs
import zlib
from collections.abc import Iterator
from itertools import chain

from common.errors import BadInput

_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 8 * 1024 * 1024


def unpacked(arrivals: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes, opened and as UTF-8; a piece is at most eight MiB of what was packed. Raises BadInput."""
    arrivals = filter(None, arrivals)
    first = next(arrivals, b"")
    whole = chain([first], arrivals)
    if first.startswith(_GZIP):
        return unpacked(_gunzipped(whole))
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _from_utf16(whole)
    return whole


def _gunzipped(packed: Iterator[bytes]) -> Iterator[bytes]:
    opened = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for held in packed:
        while held:
            # Files that are put behind one another are one.
            if opened.eof:
                opened = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield opened.decompress(held, _PIECE_BYTES)
            except zlib.error as error:
                raise BadInput(f"a damaged gzip file: {error}", "gzip") from error
            held = opened.unconsumed_tail or opened.unused_data
    if not opened.eof:
        raise BadInput("a gzip file that ends too soon", "gzip")


def _from_utf16(coded: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        for part in coded:
            yield decoder.decode(part).encode()
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise BadInput(f"damaged UTF-16: {error}", "utf16") from error
