"""How many of the series that a target is pushed nothing maps, and how many are left out on purpose. Pure."""

from array import array

import numpy as np
from numpy.typing import NDArray

_MAPPED = -1


class PushedShares:
    """By slot of a series, and by the name of its target.

    targets_max: targets that are counted, mapped or not: a sender may name as many as it likes.
    """

    def __init__(self, targets_max: int) -> None:
        self._targets_max = targets_max
        self._numbers: dict[str, int] = {}
        self._of_slot = array("i")  # the number of its target, twice, and 1 where it is left out
        self._counts = array("q")  # as many for each target: of what nothing maps, and of what is left out

    def add(self, target: str, *, left_out: bool) -> None:
        """The next slot is a series of this target that is no sample; '' for no certain target."""
        number = self._numbers.get(target)
        if number is None and target and len(self._numbers) < self._targets_max:
            number = self._numbers[target] = len(self._numbers)
            self._counts.extend((0, 0))
        if number is None:
            self.add_other()
            return
        place = 2 * number + left_out
        self._of_slot.append(place)
        self._counts[place] += 1

    def add_other(self) -> None:
        """The next slot is any other series."""
        self._of_slot.append(_MAPPED)

    def of(self, target: str) -> tuple[int, int]:
        """Of what nothing maps, and of what is left out."""
        number = self._numbers.get(target)
        return (0, 0) if number is None else (self._counts[2 * number], self._counts[2 * number + 1])

    def keep(self, slots: NDArray[np.int64]) -> None:
        """Goes on with these slots alone, in their order."""
        kept = np.array(self._of_slot, np.int64)[slots]
        of_target = np.bincount(kept[kept != _MAPPED], minlength=len(self._counts))
        names = [name for name, number in self._numbers.items() if of_target[2 * number : 2 * number + 2].any()]
        moved = np.full(len(self._counts) + 1, _MAPPED, np.int64)  # its last place is that of what is mapped
        for new, name in enumerate(names):
            old = self._numbers[name]
            moved[2 * old : 2 * old + 2] = 2 * new, 2 * new + 1
        self._of_slot = array("i", moved[kept].tolist())
        self._counts = array("q", np.delete(of_target, np.flatnonzero(moved[:-1] == _MAPPED)).tolist())
        self._numbers = {name: new for new, name in enumerate(names)}
