"""Numba without the libraries that it only looks for: a sixteenth of the time of a command that ends soon."""

import importlib
import sys

_OPTIONAL = ("scipy", "yaml", "cffi")
# What looks for them: numba itself, for its settings and versions; linear algebra; foreign functions.
_LOOKING = ("numba", "numba.np.arraymath", "numba.core.typing.cffi_utils")


def load_alone() -> None:
    """Loads numba as if they were not there; before anything else does. What needs them cannot be compiled then, and
    nothing here does. Whatever of them is loaded already stays.
    """
    hidden = [name for name in _OPTIONAL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # so that importing one fails
    try:
        for part in _LOOKING:
            importlib.import_module(part)
    finally:
        for name in hidden:
            del sys.modules[name]
