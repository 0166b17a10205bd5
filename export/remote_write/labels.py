"""Labels of series as remote write spells them: encoded once a series, then only copied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from export.remote_write.symbols import Interned, intern
from export.remote_write.wire import field
from telemetry.series import SeriesTable, parse_series_key

LABEL_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """The encoded labels of some series: series ``i`` is ``blob[starts[i]:starts[i + 1]]``, empty for an unusable one.

    blob: uint8[], starts: int64[n + 1].
    """

    blob: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1

    @cached_property
    def interned(self) -> Interned:
        """The same labels as 2.0 spells them."""
        return intern(self.blob, self.starts)

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """bool[n]: False where the labels could not be encoded."""
        return np.diff(self.starts) > 0


def join(encoded: Sequence[bytes]) -> EncodedLabels:
    """Label sets, encoded one by one, as one block of bytes."""
    starts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in encoded], out=starts[1:])
    return EncodedLabels(np.frombuffer(b"".join(encoded), dtype=np.uint8), starts)


def encode_table(table: SeriesTable, external: Mapping[str, str]) -> EncodedLabels:
    """A series whose key or labels are unusable gets no bytes: it costs itself and no other."""
    encoded = []
    for key in table.keys:
        try:
            metric, labels = parse_series_key(key)
            encoded.append(encode_labels(metric, labels, external))
        except BadInput:
            encoded.append(b"")
    return join(encoded)


def encode_labels(metric: str, labels: Mapping[str, str], external: Mapping[str, str]) -> bytes:
    """The repeated field ``labels`` of a TimeSeries: sorted by name, no empty value; BadInput when it is unusable.

    The series' own labels win over external ones.
    """
    every = {**external, **labels, "__name__": metric}
    try:
        pairs = sorted((name.encode(), value.encode()) for name, value in every.items() if value)
    except UnicodeEncodeError as error:
        raise BadInput(f"{metric}: a label that is no Unicode text", "bad_label") from error
    encoded = b"".join(field(1, field(1, name) + field(2, value)) for name, value in pairs)
    if len(encoded) > LABEL_BYTES_MAX:
        raise BadInput(f"{metric}: {len(encoded)} bytes of labels: at most {LABEL_BYTES_MAX}", "bad_label")
    return encoded
