"""Names of series: canonical metric plus sorted labels, as one string in the form ``metric{label="value",...}``."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from common.errors import BadInput

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_PAIR = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"'
_LABEL = re.compile(_PAIR + r"(?:,|$)")
_KEY = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\{(?:" + _PAIR + r"(?:,|(?=\})))*\}")
_AROUND = len('="",')  # what a pair has beside its name and its value
_UNESCAPE = re.compile(r"\\(.)")


def series_key(metric: str, labels: Mapping[str, str]) -> str:
    """The canonical spelling of a series.

    >>> series_key("gpu_power_watts", {"gpu": "GPU-1", "device": "node1"})
    'gpu_power_watts{device="node1",gpu="GPU-1"}'
    """
    inside = ",".join(f'{name}="{labels[name].translate(_ESCAPES)}"' for name in sorted(labels))
    return f"{metric}{{{inside}}}"


def parse_series_key(key: str) -> tuple[str, dict[str, str]]:
    """Metric and labels of ``series_key``'s spelling; BadInput for anything else.

    >>> parse_series_key('gpu_power_watts{device="node1",gpu="GPU-1"}')
    ('gpu_power_watts', {'device': 'node1', 'gpu': 'GPU-1'})
    """
    metric, brace, rest = key.partition("{")
    if not brace or not rest.endswith("}"):
        raise BadInput(f'series {key[:80]!r}: expected metric{{label="value",...}}')
    inside, position, labels = rest[:-1], 0, dict[str, str]()
    if "\\" not in inside:  # as most are: in one go
        pairs = _LABEL.findall(inside)
        if sum(len(name) + len(value) + _AROUND for name, value in pairs) == len(inside) + 1:
            return metric, dict(pairs)
    while position < len(inside):
        match = _LABEL.match(inside, position)
        if match is None:
            raise BadInput(f'series {key[:80]!r}: expected label="value" at character {position + len(metric) + 1}')
        labels[match[1]] = _UNESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], match[2])
        position = match.end()
    return metric, labels


def is_series_key(key: str) -> bool:
    """Whether ``parse_series_key`` reads it, and its metric is a name.

    >>> is_series_key('gpu_power_watts{device="node1",gpu="GPU-1"}'), is_series_key("gpu_power_watts")
    (True, False)
    """
    return _KEY.fullmatch(key) is not None


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """The series that one target reports, in a fixed order; samples refer to their row numbers.

    target: the target's name in the configuration (``job/address``), unique in the cluster.
    device: the switch or host that the target speaks for; the key of its records on the bus.
    keys:   one ``series_key`` a row, without repetition (not checked here: collectors build them from dicts).
    Two tables are equal when their digests are.
    """

    target: str
    device: str
    keys: tuple[str, ...] = field(repr=False)

    @cached_property
    def digest(self) -> bytes:
        """16 bytes that identify this content."""
        content = "\n".join((self.target, self.device, *self.keys))
        return hashlib.blake2b(content.encode(), digest_size=16).digest()

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeriesTable) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)
