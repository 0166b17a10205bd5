"""Options of the commands that ask an API, which may run elsewhere."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Where the API is; else that of the settings, or http://127.0.0.1:9099."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", metavar="FILE", help="A token for reading, where one is needed; else this machine's own."
    ),
]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", metavar="FILE", help="Certificates to trust instead of the system's, PEM.")
]
AsOutput = Annotated[Output, typer.Option("--output", help="Form of the output.")]
Limit = Annotated[int, typer.Option("--limit", min=1, help="At most so many.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="2026-01-31T22:00:00Z, or seconds since the Unix epoch.")
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="The same; what began before it.")]
LIMIT = 50
