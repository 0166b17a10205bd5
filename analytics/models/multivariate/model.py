"""What was learned about one kind of device: a shape of what is healthy, and the score at which a device is not."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from analytics.models.multivariate.ellipse import Ellipse
from analytics.models.multivariate.forest import Forest
from analytics.snapshot.stateful import State
from common.errors import BadInput

VERSION = 1  # goes up with every change of what the inputs or the arrays mean
Method = Literal["ellipse", "forest"]
_SHAPES: dict[Method, type[Ellipse] | type[Forest]] = {"ellipse": Ellipse, "forest": Forest}
_SEED = 1
_HEALTHY = 0.999  # of the vectors that it learned from, none is an anomaly beyond their high scores
# How far beyond that the limit is, as a multiple of the way from the median: measured, see docs/multivariate.md.
_MARGIN: dict[Method, float] = {"ellipse": 1.5, "forest": 1.1}


@dataclass(frozen=True)
class Model:
    """trained_ns: event time up to which it has seen. median, limit: scores of the shape that become 0 and 1."""

    method: Method
    shape: Ellipse | Forest
    trained_ns: int
    rows: int
    median: float
    limit: float

    def score(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k], 1.0 = the limit."""
        return np.asarray((self.shape.score(vectors) - self.median) / (self.limit - self.median))

    def state(self) -> State:
        arrays = {field.name: getattr(self.shape, field.name) for field in fields(self.shape)}
        known = {name: getattr(self, name) for name in ("method", "trained_ns", "rows", "median", "limit")}
        return State({"version": VERSION, "checksum": _checksum(arrays), **known}, arrays)

    @staticmethod
    def restored(state: State) -> "Model":
        """Raises BadInput (``version``, ``checksum``) when the arrays are not those that were saved."""
        head, arrays = state
        if head["version"] != VERSION or head["method"] not in get_args(Method):
            raise BadInput(f"model of version {head['version']}: expected {VERSION}", "version")
        shape = _SHAPES[head["method"]]
        of_shape = {field.name: arrays[field.name] for field in fields(shape)}
        if _checksum(of_shape) != head["checksum"]:
            raise BadInput(f"model of {head['rows']} rows: checksum does not match", "checksum")
        known = {name: head[name] for name in ("method", "trained_ns", "rows", "median", "limit")}
        return Model(shape=shape(**of_shape), **known)


def train(method: Method, vectors: NDArray[np.float32], trained_ns: int) -> Model:
    """vectors: float32[rows, F], the healthy history. The same vectors give the same model."""
    healthy = vectors.astype(np.float64)
    shape = _SHAPES[method].fit(healthy, _SEED)
    scores = shape.score(healthy)
    median, high = (float(q) for q in np.quantile(scores, [0.5, _HEALTHY]))
    limit = median + _MARGIN[method] * max(high - median, 1e-6)
    return Model(method, shape, trained_ns, len(vectors), median, limit)


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> int:
    checksum = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        checksum = zlib.crc32(array.data, zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), checksum))
    return checksum
