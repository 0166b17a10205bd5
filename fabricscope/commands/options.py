"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config.file", envvar="FABRICSCOPE_CONFIG_FILE", help="Settings, YAML. See `fabricscope config print`."
    ),
]
