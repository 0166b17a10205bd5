"""A setting: which files of a folder are read."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field


def _stays_below(glob: str) -> str:
    if glob.startswith("/") or ".." in Path(glob).parts:
        raise ValueError(f"{glob!r}: expected a pattern below folder, such as *.log")
    return glob


GlobBelow = Annotated[str, Field(min_length=1), AfterValidator(_stays_below)]
"""A pattern of paths that leads out of no folder."""
