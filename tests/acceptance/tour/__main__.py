"""``make tour``, ``python -m tests.acceptance.tour [--hosts N] [--out FOLDER]``.

Exit status 1 unless each fault has exactly one incident and one page that name it, and there is nothing else.
"""

import argparse
import sys
from pathlib import Path

import orjson
from rich.console import Console

from tests.acceptance.lab import lab_folder
from tests.acceptance.tour.judge import problems
from tests.acceptance.tour.page import page_of
from tests.acceptance.tour.plan import Plan
from tests.acceptance.tour.run import run
from tests.acceptance.tour.site import Site

DOCUMENTS = Path(__file__).parents[3] / "docs" / "tour"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.tour", description=__doc__)
    parser.add_argument("--hosts", type=int, default=Plan().hosts, help="of eight GPUs each; at least 6")
    parser.add_argument("--out", type=Path, default=DOCUMENTS, help="folder of the page and its pictures")
    chosen = parser.parse_args()
    console, plan = Console(width=None if sys.stdout.isatty() else 140), Plan(hosts=chosen.hosts)
    chosen.out.mkdir(parents=True, exist_ok=True)
    with lab_folder("tour") as folder, Site(folder, plan) as site:
        tour = run(site, plan, chosen.out, console.print)
        (folder / "tour.json").write_bytes(orjson.dumps(tour))
    found = problems(tour)
    pictures = {path.name for path in chosen.out.glob("*.png")}
    (chosen.out / "README.md").write_text(page_of(tour, found, pictures))
    for problem in found:
        console.print(f"FAIL {problem}", markup=False)
    console.print(f"written: {chosen.out / 'README.md'}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
