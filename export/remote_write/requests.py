"""How blocks become requests, and how a rejected request is divided. Pure; order is kept throughout."""

from collections.abc import Sequence

import numpy as np

from export.remote_write.encoder import SampleBlock

PROBES = 8


def count(blocks: Sequence[SampleBlock]) -> int:
    """Samples in all of them."""
    return sum(map(len, blocks))


def split(blocks: Sequence[SampleBlock], samples_max: int) -> list[list[SampleBlock]]:
    """Requests of at most ``samples_max`` samples each."""
    requests: list[list[SampleBlock]] = []
    room = 0
    for block in blocks:
        begin = 0
        while begin < len(block):
            if room == 0:
                requests.append([])
                room = samples_max
            end = min(len(block), begin + room)
            requests[-1].append(block.part(begin, end))
            room -= end - begin
            begin = end
    return requests


def halves(blocks: Sequence[SampleBlock]) -> tuple[list[SampleBlock], list[SampleBlock]]:
    """Two parts of at least two samples: between blocks while there are several, then between or within series."""
    assert count(blocks) > 1, "one sample cannot be divided"
    if len(blocks) > 1:
        middle = len(blocks) // 2
        return list(blocks[:middle]), list(blocks[middle:])
    (block,) = blocks
    middle = len(block) // 2
    return [block.part(0, middle)], [block.part(middle, len(block))]


def probes(blocks: Sequence[SampleBlock], most: int = PROBES) -> list[SampleBlock]:
    """Some single samples spread over a request, to see whether any is accepted.

    Each is the first of its series, so that none makes an earlier one late. Of a small request one probe is all that is
    quicker than dividing it.
    """
    firsts: list[tuple[SampleBlock, int]] = []
    seen: set[int] = set()
    for block in blocks:
        if id(block.labels) not in seen:
            seen.add(id(block.labels))
            firsts += [(block, at) for at in np.flatnonzero(np.diff(block.series, prepend=-1)).tolist()]
    if most > 1 and len(firsts) <= 2 * PROBES:
        return []
    chosen = np.linspace(0, len(firsts) - 1, most).astype(np.int64).tolist()
    return [block.part(at, at + 1) for block, at in (firsts[each] for each in chosen)]
