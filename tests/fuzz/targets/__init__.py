"""The targets by name."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "corpus"
INPUT_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class Target:
    """run: raises for a bug alone. inputs: seeds, then what was kept. executions: of the short run in the suite."""

    name: str
    run: Callable[[bytes], None]
    inputs: tuple[bytes, ...]
    executions: int


def names() -> list[str]:
    """Of all targets, sorted."""
    return sorted(_modules())


def load(name: str) -> Target:
    """KeyError for a name that is none."""
    module = importlib.import_module(_modules()[name])
    kept = sorted((CORPUS / name).glob("*"))
    inputs = (*module.SEEDS, *(path.read_bytes() for path in kept))
    return Target(name, module.target, inputs, getattr(module, "EXECUTIONS", 300))


def _modules() -> dict[str, str]:
    found = pkgutil.walk_packages(__path__, f"{__name__}.")
    return {module.name.rpartition(".")[2]: module.name for module in found if not module.ispkg}
