"""What active faults hold in arrays of the model, so that faults of one element compose and end separately."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

Combine = Callable[[Iterable[float]], float]
"""How the element's own value and those of its faults become one: ``min``, ``max``, ``sum`` or ``math.prod``."""


@dataclass(slots=True)
class _Element:
    """One element of an array. own: its value without any fault. by: what each fault holds, in order of begin."""

    array: NDArray[Any]
    at: int
    combine: Combine
    own: float
    by: dict[object, float] = field(default_factory=dict)

    def apply(self) -> None:
        self.array[self.at] = self.combine((self.own, *self.by.values())) if self.by else self.own


class Holds:
    """Elements that faults hold. Once the last one lets go, an element is exactly what it was before the first.

    >>> import numpy as np
    >>> holds, clocks = Holds(), np.ones(1)
    >>> holds.set("straggler", clocks, 0, 0.5, min); holds.set("brake", clocks, 0, 0.7, min)
    >>> holds.release("straggler"); clocks.tolist()
    [0.7]
    >>> holds.release("brake"); clocks.tolist()
    [1.0]
    """

    def __init__(self) -> None:
        self._elements: dict[tuple[int, int], _Element] = {}

    def set(self, owner: object, array: NDArray[Any], at: int, value: float, combine: Combine) -> None:
        """Holds ``array[at]`` at ``value``; another call of the same owner replaces its value."""
        key = id(array), at
        element = self._elements.get(key)
        if element is None:
            element = self._elements[key] = _Element(array, at, combine, array[at].item())
        element.by[owner] = value
        element.apply()

    def release(self, owner: object) -> None:
        """Lets go of everything that ``owner`` holds."""
        for key, element in list(self._elements.items()):
            if owner in element.by:
                del element.by[owner]
                element.apply()
                if not element.by:
                    del self._elements[key]
