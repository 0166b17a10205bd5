"""Records of numbers: a class of fields as the layout of numpy's and the compiler's rows."""

from typing import Annotated, Any

import numpy as np

# Whatever the other numbers of a record are: a number in single precision, whole ones of 0 to 255 and to 65,535, and
# one of either sign.
Single = Annotated[float, "f4"]
Few = Annotated[float, "u1"]
Many = Annotated[float, "u2"]
Signed = Annotated[float, "i2"]


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
    names = {float: number, Single: "f4", Few: "u1", Many: "u2", Signed: "i2"}
    kinds = fields.__annotations__.items()
    return np.dtype([(name, names[kind] if kind in names else record_of(kind, number)) for name, kind in kinds])
