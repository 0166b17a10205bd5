"""``make soak``, or ``python -m tests.acceptance.soak --duration 1h``: exits with 1 when a promise was broken."""

import asyncio
import sys

from rich.console import Console

from tests.acceptance.lab import lab_folder
from tests.acceptance.soak.plan import plan_of
from tests.acceptance.soak.report import draw, judge, notes, table
from tests.acceptance.soak.soak import Soak


def main() -> None:
    plan = plan_of(sys.argv[1:])
    console = Console(width=None if sys.stdout.isatty() else 160)
    with lab_folder("soak") as folder:
        soak = Soak(plan, folder, console)
        asyncio.run(soak.run())
        picture = folder / "soak.svg"
        draw(soak, picture)
    judged = judge(plan, soak)
    console.print(table(judged))
    for note in notes(soak):
        console.print(note)
    console.print(f"picture: {picture}")
    sys.exit(any(one.kept is False for one in judged))


if __name__ == "__main__":
    main()
