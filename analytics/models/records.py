"""Records of numbers: a class of fields as the layout of numpy's and the compiler's rows."""

from typing import Any

import numpy as np


def record_of(fields: type, number: str = "f8") -> np.dtype[Any]:
    """A record with the annotated fields of a class, in their order: each a number, or again such a class.

    Compiled code gets a row of an array of it and reads and writes its fields in place; the class is the type that
    mypy sees.

    >>> class Point:
    ...     x: float
    ...     y: float
    >>> record_of(Point, "f4")
    dtype([('x', '<f4'), ('y', '<f4')])
    """
    kinds = fields.__annotations__.items()
    return np.dtype([(name, number if kind is float else record_of(kind, number)) for name, kind in kinds])
