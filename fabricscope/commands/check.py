"""``fabricscope check``: is this file right?"""

from pathlib import Path

import typer

from fabricscope.settings import load_settings

app = typer.Typer(help="Check a file before it is used.", no_args_is_help=True)


@app.command("config")
def check_config(file: Path) -> None:
    """Read the settings and print what was found; file:line:column and exit status 1 when something is wrong."""
    settings = load_settings(file)
    print(f"{file}: valid")
    for line in settings.summary():
        print(f"  {line}")
