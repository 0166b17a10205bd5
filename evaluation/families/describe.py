"""The section of docs/evaluation/families.md that lists the families.

``python -m evaluation.families.describe`` writes it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from evaluation import report
from evaluation.families.family import Family, FamilySets, FaultChoice, Place, read_families

PAGE = Path(__file__).parents[2] / "docs" / "evaluation" / "families.md"
BEGINS, ENDS = "## The families\n", "## Where it is still generous\n"
COLUMNS = ("family", "stands for", "background", "shape", "work", "faults", "telemetry")
TOGETHER = {2: "in pairs", 3: "in threes"}


def section(sets: FamilySets) -> str:
    """Values that are left out, and a table of each list."""
    withheld = [[axis, ", ".join(names)] for axis, names in sets.withheld.items()]
    parts = ["## The families", "Written by `python -m evaluation.families.describe`."]
    parts.append(report.table(("axis", "only in report families"), withheld))
    for name, families in (("train", sets.train), ("report", sets.report)):
        parts += [f"### `{name}`", report.table(COLUMNS, list(_cells(families)))]
    return "\n\n".join(parts) + "\n\n"


def _cells(families: Iterable[Family]) -> Iterator[list[str]]:
    for family in families:
        background = ", ".join(family.conditions) or "quiet"
        faults = "; ".join(_faults(family.faults)) if family.faults else "none"
        if family.boot_s[1]:
            faults += f"; hosts boot for {family.boot_s[0]:g} to {family.boot_s[1]:g} s"
        shape = family.shape if family.hosts == 8 else f"{family.shape}, {family.hosts} hosts"
        work = ", ".join(family.work)
        yield [family.name, family.stands_for, background, shape, work, faults, family.collection]


def _faults(choice: FaultChoice) -> Iterator[str]:
    yield ", ".join(choice.kinds)
    if choice.together in TOGETHER:
        yield TOGETHER[choice.together]
    if choice.place is not Place.ANY:
        yield f"at {choice.place}"
    yield f"strength {choice.strength[0]:g} to {choice.strength[1]:g}, {choice.lasts_s[0]:g} to {choice.lasts_s[1]:g} s"
    if choice.intermittent:
        yield f"{choice.on_s[0]:g} to {choice.on_s[1]:g} s on, {choice.off_s[0]:g} to {choice.off_s[1]:g} s off"
    if choice.silent:
        yield "silent"


def described(page: str, sets: FamilySets) -> str:
    """The page with its section as declared now."""
    before, _, rest = page.partition(BEGINS)
    return before + section(sets) + ENDS + rest.partition(ENDS)[2]


if __name__ == "__main__":
    PAGE.write_text(described(PAGE.read_text(), read_families()))
