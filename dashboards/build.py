"""Writes all boards: ``python -m dashboards.build FOLDER``."""

import json
import sys
from pathlib import Path
from typing import Any

from dashboards.boards import ALL
from dashboards.lint import complain
from dashboards.render import render_board


def rendered() -> list[dict[str, Any]]:
    """All boards. ValueError when they break a rule: one bad file freezes Grafana's whole provider."""
    boards = [render_board(board) for board in ALL]
    if complaints := complain(boards):
        raise ValueError("\n".join(complaints))
    return boards


def build(folder: Path) -> list[Path]:
    """One JSON file a board. ValueError as ``rendered``."""
    boards = rendered()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for board in boards:
        path = folder / f"{board['uid']}.json"
        path.write_text(json.dumps(board, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in build(Path(sys.argv[1])):
        print(written)
