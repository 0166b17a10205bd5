"""``make dataset``: writes the labelled set into ``build/dataset``; with options more of it, or other families."""

import argparse
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from common.errors import ConfigError
from evaluation.dataset.write import write_cluster, write_texts
from evaluation.families import parts
from evaluation.families.family import Family, read_families
from evaluation.families.plans import plans

FOLDER = Path(__file__).parents[2] / "build" / "dataset"
SEED, HOURS = 301, 1.0  # of each family; a seed that no evaluation has
# Families whose faults show in the fabric, in clusters that differ only in place and number of faults.
FAMILIES = ("plain-singles", "plain-pairs", "plain-leaf-side", "plain-storage-side", "plain-triples")


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> None:
    """SystemExit for a family that is not declared, or that names what the simulator lacks."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.dataset", description=__doc__)
    parser.add_argument("--hours", type=float, default=HOURS, help="simulated hours of each family (%(default)s)")
    parser.add_argument("--families", nargs="+", default=FAMILIES, metavar="NAME", help="%(default)s")
    options = parser.parse_args(arguments)
    progress, began_s = Console(stderr=True), time.monotonic()
    try:
        work = [plan for family in _families(options.families) for plan in plans(family, SEED, options.hours)]
        shutil.rmtree(folder, ignore_errors=True)
        clusters = []
        for number, plan in enumerate(work, 1):
            clusters.append(write_cluster(plan, folder))
            spent_s = time.monotonic() - began_s
            progress.print(f"{number} of {len(work)}, {spent_s:.0f} s: {plan.family.name}", highlight=False)
    except ConfigError as error:
        raise SystemExit(f"dataset: {error}") from error
    write_texts(folder, clusters)
    progress.print(f"written: {folder}", highlight=False)


def _families(names: Sequence[str]) -> list[Family]:
    sets = read_families()
    known = {family.name: family for family in (*sets.train, *sets.report)}
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"no family {', '.join(unknown)}, expected some of {', '.join(known)}")
    found = [known[name] for name in names]
    parts.check(found)
    return found


if __name__ == "__main__":
    main()
