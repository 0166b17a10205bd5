"""``fabricscope check``: are the settings right, and do the boards keep their rules?"""

from pathlib import Path
from typing import Annotated

import typer

from common.printing import printable


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Check settings and boards before they are used.", no_args_is_help=True)
    group.command("config")(check_config)
    group.command("dashboards")(check_dashboards)
    app.add_typer(group, name="check")


def check_config(file: Annotated[Path, typer.Argument(metavar="FILE", help="Settings, YAML.")]) -> None:
    """Read the settings and print what was found; file:line:column and exit status 1 when something is wrong."""
    from common.documents.yaml_positions import load_with_positions
    from fabricscope.named_files import unreadable
    from fabricscope.settings import load_settings

    settings = load_settings(file)
    document, positions = load_with_positions(file)
    lines = [*settings.summary(), *unreadable(file, document, positions)]
    if settings.ingest.inventory is not None:
        lines.append(_inventory(settings.ingest.inventory.file))
    print(f"{file}: valid{'' if document else ', and empty: every setting has its default'}")
    for line in lines:
        print(f"  {printable(line)}")


def _inventory(file: Path) -> str:
    """How much is in it; ConfigError for its first error. Where it is missing it may be on the machine that runs it."""
    from ingest.collectors.inventory.parse import parse_inventory

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"inventory {file}: cannot be read here: {error}"
    return f"inventory {file}: {len(parse_inventory(text, str(file)))} objects"


def check_dashboards() -> None:
    """Check all boards against their rules and the metric catalogue; each complaint is a line and exit status 1."""
    from dashboards.boards import ALL
    from dashboards.lint import complain
    from dashboards.render import render_board

    complaints = complain([render_board(board) for board in ALL])
    for complaint in complaints:
        print(complaint)
    if complaints:
        raise typer.Exit(1)
    print(f"{len(ALL)} boards, {sum(len(board.panels) for board in ALL)} panels: valid")
