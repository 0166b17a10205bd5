"""``python -m tests.acceptance.run_picture COMMAND ANSI PNG``: what a command wrote to a terminal, as a picture.

ANSI: as ``script --quiet --command COMMAND ANSI`` leaves it, in a terminal of 122 columns.
"""

import asyncio
import re
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tests.servers.chromium import launched_chromium, new_page

COLUMNS = 122
_PIECES = re.compile(
    r"(?P<text>(?:[^\x1b\r\n]|\x1b\[[0-9;]*m)+)|\x1b\[(?P<number>[0-9;?]*)(?P<command>[A-Za-z])|(?P<move>[\r\n])|\x1b"
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def lines_of(written: str) -> list[str]:
    """What stands in the terminal at the end, with its colours. A status line writes over itself: it goes up, erases a
    line, and begins again."""
    lines, row, fresh = [""], 0, False
    for piece in _PIECES.finditer(written):
        if piece["move"] == "\n":
            row, fresh = row + 1, False
            lines += [""] * (row >= len(lines))
        elif piece["move"] == "\r":
            fresh = True  # what is written now stands in place of the line
        elif piece["command"] == "A":
            row = max(0, row - int(piece["number"] or 1))
        elif piece["command"] == "K":
            lines[row], fresh = "", False
        elif piece["text"]:
            lines[row], fresh = ("" if fresh else lines[row]) + piece["text"], False
    shown = [at for at, line in enumerate(lines) if _COLOURS.sub("", line).strip()]
    return lines[: shown[-1] + 1] if shown else []


def picture_of(command: str, lines: list[str]) -> str:
    """SVG."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(f"$ {command}", highlight=False)
    for line in lines:
        console.print(Text.from_ansi(line), no_wrap=True)
    return console.export_svg(title=command)


async def _shot(svg: str, to: Path) -> None:
    async with launched_chromium() as browser:
        page = await new_page(browser, viewport={"width": 1604, "height": 900})
        await page.set_content(f"<style>body{{margin:0}}svg{{width:1604px;display:block}}</style>{svg}")
        await page.locator("svg").first.screenshot(path=to, omit_background=True)


if __name__ == "__main__":
    command, written, picture = sys.argv[1:]
    text = Path(written).read_bytes().decode()  # as text its carriage returns would be line feeds
    asyncio.run(_shot(picture_of(command, lines_of(text)), Path(picture)))
