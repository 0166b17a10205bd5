"""What is machine code by now, in this process."""

import sys

from numba.core.dispatcher import Dispatcher


def compiled(package: str) -> set[tuple[str, str]]:
    """Name and types of all compiled functions of a package."""
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]
    functions = {one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
    return {(one.py_func.__qualname__, str(kind)) for one in functions for kind in one.signatures}
