"""The one place where functions become machine code, with their types kept."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function compiled on its first call and cached on disk. It may use numbers and numpy arrays only."""
    return cast(F, njit(cache=True)(function))


def compiled_unchecked(function: F) -> F:
    """The same, but a division by zero gives infinity or NaN, as in numpy: without that check, a sixth faster."""
    return cast(F, njit(cache=True, error_model="numpy")(function))
