"""The one place where functions become machine code, with their types kept, and are cached on disk.

Numba loads what it has compiled from disk as long as the function's own file is the same. But code and constants of
other files of the folder are compiled into it, so here a change of any of them recompiles it. Changes in
other folders are not seen: compiled functions use none of those.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

from numba import config, njit
from numba.core import caching

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function compiled on its first call. It may use numbers and numpy arrays only, and runs without the GIL."""
    return cast(F, njit(cache=True, nogil=True)(function))


def compiled_unchecked(function: F) -> F:
    """The same, but a division by zero gives infinity or NaN, as in numpy: without that check, a sixth faster."""
    return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """The same as ``compiled``, but made part of each function that calls it."""
    return cast(F, njit(cache=True, nogil=True, inline="always")(function))


@lru_cache
def stamp_of(folder: Path) -> str:
    """Changes with every Python file of the folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class _ByFolder:
    _py_file: str

    def get_source_stamp(self) -> str:
        return stamp_of(Path(self._py_file).parent)


class Provided(_ByFolder, caching.UserProvidedCacheLocator):
    """In ``NUMBA_CACHE_DIR``."""


class InTree(_ByFolder, caching.InTreeCacheLocator):
    """Beside the source."""


class UserWide(_ByFolder, caching.UserWideCacheLocator):
    """In the user's cache folder, where the source cannot be written to."""


config.CACHE_LOCATOR_CLASSES = ",".join(f"{__name__}.{each.__name__}" for each in (Provided, InTree, UserWide))  # type: ignore[attr-defined]
