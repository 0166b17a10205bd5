"""The one place where functions become machine code, with their types kept, and are cached on disk.

Numba loads what it has compiled from disk as long as the function's own file is the same. But code and constants of
other files of the folder are compiled into it, so here a change of any of them recompiles it, as does one in
``common/wire``. Changes in other folders are not seen: compiled functions use none of those.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import caching

_SHARED = Path(__file__).with_name("wire")
SHIPPED = "FABRICSCOPE_COMPILED"  # names a folder that was the ``NUMBA_CACHE_DIR`` when an image was built

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function compiled on its first call. It may use numbers and numpy arrays only, and runs without the GIL."""
    return cast(F, njit(cache=True, nogil=True)(function))


def compiled_uncounted(function: F) -> F:
    """The same for a function that makes no array, which numba refuses here, and returns none: it counts no references.

    Its caller holds all arrays anyway. To count them, atomically, at each call within took up to two thirds of a scan.
    """
    assert "ndarray" not in str(function.__annotations__["return"]).lower(), "whoever calls it would free it once more"
    return cast(F, njit(cache=True, nogil=True, _nrt=False)(function))  # type: ignore[call-overload]


def compiled_unchecked(function: F) -> F:
    """The same for steps of a long loop: a division by zero gives infinity or NaN, as in numpy, and the machine code is
    made part of each function that calls it. A sixth faster without the check, and a sixth without the calls.
    """
    return cast(F, njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


def inlined(function: F) -> F:
    """The same as ``compiled``, but made part of each function that calls it."""
    return cast(F, njit(cache=True, nogil=True, inline="always")(function))


@lru_cache
def stamp_of(folder: Path, shared: Path = _SHARED) -> str:
    """Changes with every Python file of the folder and of the shared one."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), *sorted(shared.glob("*.py"))):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class _ByFolder:
    _py_file: str
    _lineno: int

    def get_source_stamp(self) -> str:
        return stamp_of(Path(self._py_file).parent)

    def get_disambiguator(self) -> str:
        """Part of the file's name, so that numba never unpickles an old file: its classes may have been renamed."""
        return f"{self._lineno}-{self.get_source_stamp()[:16]}"


@lru_cache
def _copy_shipped(shipped: Path, folder: Path) -> None:
    """Files that are there stay: numba may just have added to them what it has compiled for another CPU."""
    for file in shipped.glob("*.nb[ic]"):
        draft = folder / f"{file.name}.{os.getpid()}"
        shutil.copyfile(file, draft)
        with suppress(FileExistsError):
            (folder / file.name).hardlink_to(draft)
        draft.unlink()


class Provided(_ByFolder, caching.UserProvidedCacheLocator):
    """In ``NUMBA_CACHE_DIR``. What an image ships is copied there: numba writes beside what it reads."""

    def ensure_cache_path(self) -> None:
        super().ensure_cache_path()  # type: ignore[no-untyped-call]
        if shipped := os.environ.get(SHIPPED):
            folder = Path(self._cache_path)
            _copy_shipped(Path(shipped, folder.name), folder)


class InTree(_ByFolder, caching.InTreeCacheLocator):
    """Beside the source."""


class UserWide(_ByFolder, caching.UserWideCacheLocator):
    """In the user's cache folder, where the source cannot be written to."""


@lru_cache
def _temporary_folder() -> "TemporaryDirectory[str]":
    """Of this process alone, and gone with it: what is cached is unpickled, so nobody else may write there."""
    return TemporaryDirectory(prefix="fabricscope-numba-")


class Temporary(UserWide):
    """Where nothing else can be written to, as by a user without a home: each process compiles for itself."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        folder = self.get_suitable_cache_subpath(file)  # type: ignore[no-untyped-call]
        self._cache_path = str(Path(_temporary_folder().name, folder))


_PLACES = (Provided, InTree, UserWide, Temporary)
config.CACHE_LOCATOR_CLASSES = ",".join(f"{__name__}.{each.__name__}" for each in _PLACES)  # type: ignore[attr-defined]
