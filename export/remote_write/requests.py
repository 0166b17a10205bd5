"""How blocks of rows become requests, and how a refused request is taken apart. Pure; order is kept throughout."""

from collections.abc import Sequence

import numpy as np

from export.remote_write.encoder import Rows

PROBES = 8


def count(blocks: Sequence[Rows]) -> int:
    """Samples in all of them."""
    return sum(len(rows) for rows in blocks)


def cut(blocks: Sequence[Rows], samples_max: int) -> list[list[Rows]]:
    """Requests of at most ``samples_max`` samples each."""
    requests: list[list[Rows]] = []
    room = 0
    for rows in blocks:
        begin = 0
        while begin < len(rows):
            if room == 0:
                requests.append([])
                room = samples_max
            end = min(len(rows), begin + room)
            requests[-1].append(rows.part(begin, end))
            room -= end - begin
            begin = end
    return requests


def halves(blocks: Sequence[Rows]) -> tuple[list[Rows], list[Rows]]:
    """Two parts of at least two samples: between blocks while there are several, then between or within series."""
    assert count(blocks) > 1, "one sample cannot be taken apart"
    if len(blocks) > 1:
        middle = len(blocks) // 2
        return list(blocks[:middle]), list(blocks[middle:])
    rows = blocks[0]
    middle = len(rows) // 2
    return [rows.part(0, middle)], [rows.part(middle, len(rows))]


def probes(rows: Rows) -> list[Rows]:
    """Some single samples spread over a block, each the first of its series, to see whether any is welcome."""
    first = np.flatnonzero(np.diff(rows.series, prepend=-1))
    if first.size <= 2 * PROBES:
        return []
    chosen = first[np.linspace(0, first.size - 1, PROBES).astype(np.int64)]
    return [rows.part(int(at), int(at) + 1) for at in chosen]
