"""The one place where functions become machine code, with their types kept."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function compiled on its first call and cached on disk. It may use numbers and numpy arrays only."""
    return cast(F, njit(cache=True)(function))
