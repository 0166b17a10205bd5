"""Names that exporters and switches leave out, because no target has the metrics behind them."""

import re
from collections.abc import Callable, Collection
from functools import lru_cache

from telemetry.catalogue import Kind, origins_of

Omits = Callable[[str], bool]
"""Whether a source leaves out a name: of a field of a page, or the path of a leaf."""

_PLACE = re.compile(r"\\{\w+\\}")
_KEYS = re.compile(r"\[[^\]]*\]")  # of a gNMI path: they say whose leaf it is, not which


def omits_nothing(name: str) -> bool:
    return False


@lru_cache
def omitting(absent: tuple[str, ...], *sources: str) -> Omits:
    """What these sources of the catalogue leave out when the metrics ``absent`` do not exist.

    A name that also gives a metric that exists stays.
    """
    if not absent:
        return omits_nothing
    gone: list[str] = []
    kept: list[str] = []
    for source in sources:
        for metric, origin in origins_of(source):
            if metric.name in absent:
                gone.append(origin.name)
            elif metric.kind is not Kind.INFO:  # the labels of any line: no reason to keep this one
                kept.append(origin.name)
    is_gone, is_kept = _any_of(gone), _any_of(kept)
    return lambda name: is_gone(name) and not is_kept(name)


def _any_of(names: Collection[str]) -> Callable[[str], bool]:
    """Whether a text is one of ``names``, in which a label in braces stands for a word."""
    pattern = re.compile("|".join(_PLACE.sub("[^/_:]+", re.escape(_KEYS.sub("", name))) for name in names) or r"(?!)")
    return lambda text: pattern.fullmatch(_KEYS.sub("", text)) is not None
