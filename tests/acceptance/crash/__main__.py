"""``make crash``, ``python -m tests.acceptance.crash [--kills N] [--bus embedded|kafka] [--seed S]``.

Exit status 1 when anything was lost, doubled, invented or is unaccounted, and when the state is not that of a run
without kills.
"""

import argparse
import sys

from rich.console import Console

from tests.acceptance.crash.plan import plan
from tests.acceptance.crash.report import print_verdicts
from tests.acceptance.crash.run import run
from tests.acceptance.crash.site import STAGES, Site
from tests.acceptance.lab import ENGINES, lab_folder

KILLS = 150


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help="on each bus")
    parser.add_argument("--bus", choices=ENGINES, help="default: one after the other")
    parser.add_argument("--seed", type=int, default=1, help="of who is killed when")
    chosen = parser.parse_args()
    console, progress = Console(width=None if sys.stdout.isatty() else 140), Console(stderr=True)
    console.print(f"seed {chosen.seed}, {chosen.kills} kills a bus")
    verdicts = []
    for engine in [chosen.bus] if chosen.bus else ENGINES:
        victims = (*STAGES, "kafka") if engine == "kafka" else STAGES
        with lab_folder(f"crash-{engine}") as folder, Site(folder, engine, simulated=True) as site:
            verdicts.append(run(site, plan(victims, chosen.kills, chosen.seed), progress.print))
    print_verdicts(verdicts, console)
    sys.exit(not all(one.passed for one in verdicts))


if __name__ == "__main__":
    main()
