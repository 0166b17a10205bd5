"""The labels of series as remote write 2.0 spells them, each text once and references to it: made once a table."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.remote_write.metadata import metadata_of


@dataclass(frozen=True, eq=False)
class Interned:
    """Texts of some series. texts: each once, the empty one first; metrics: names of the series, each once.

    refs: uint32, places in ``texts`` of name and value of each label; series ``i`` has
    ``refs[starts[i]:starts[i + 1]]``. starts: int64[n + 1]. about: uint32[3, n], type of the metric and places of its
    help and unit.
    """

    texts: tuple[bytes, ...]
    metrics: tuple[str, ...]
    refs: NDArray[np.uint32]
    starts: NDArray[np.int64]
    about: NDArray[np.uint32]


def intern(encoded: NDArray[np.uint8], starts: NDArray[np.int64]) -> Interned:
    """Of labels in the encoding of 1.0: series ``i`` is ``encoded[starts[i]:starts[i + 1]]``."""
    places: dict[bytes, int] = {b"": 0}
    metrics: dict[str, None] = {}
    refs: list[int] = []
    begins = [0]
    about: list[tuple[int, int, int]] = []
    content = encoded.tobytes()
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        metric = ""
        for name, value in _labels(content, begin, end):
            refs += (places.setdefault(name, len(places)), places.setdefault(value, len(places)))
            if name == b"__name__":
                metric = value.decode()
        begins.append(len(refs))
        metrics[metric] = None
        known = metadata_of(metric)
        helping, unit = (places.setdefault(text.encode(), len(places)) for text in (known.help, known.unit))
        about.append((known.type, helping, unit))
    return Interned(
        tuple(places),
        tuple(filter(None, metrics)),
        np.array(refs, dtype=np.uint32),
        np.array(begins, dtype=np.int64),
        np.array(about, dtype=np.uint32).reshape(-1, 3).T.copy(),
    )


def _labels(content: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    """Name and value of each ``Label{1: name, 2: value}``; the bytes are ours, so they are whole."""
    while at < end:
        _, at = _varint(content, at + 1)
        size, at = _varint(content, at + 1)
        name, at = content[at : at + size], at + size
        size, at = _varint(content, at + 1)
        yield name, content[at : at + size]
        at += size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
