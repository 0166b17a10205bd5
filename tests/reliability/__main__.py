"""``python -m tests.reliability``: what the program survives and which tests show it, ``docs/reliability.md``."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.reliability import Boundary, Row, State, attacks, boundaries, faults

_INTRODUCTION = """\
# Reliability: faults, attacks, and the tests that show it

Written by `make docs` from `tests/reliability/`. Each row is one fault or attack with the promise about it. *Tested*:
the tests show the promise. *In part*: they show some of it, and the row says what is missing. *Absent*: no test shows
it, and the row says why. Where a promise has a time, the tests show what happens and not how soon: none depends on
being quick. How to run all of it: `make test`, `make accept` and `make crash`.
"""

_SECURITY = """
Which boundary is checked by what is in the [threat model](#threat-model).
"""

_THREATS = """
## Threat model

Who may do harm: a device or exporter that is broken or taken over, whoever can write to the bus, whoever reaches the
API or a receiver, and text in telemetry that people and programs read later. Who runs the program, writes its settings
and owns its folders is trusted.
"""


def document() -> str:
    """Markdown: a summary, each row with its tests, and the threat model."""
    groups = {**faults(), "Security": attacks()}
    parts = [_INTRODUCTION, *_summary(groups)]
    for group, rows in groups.items():
        parts += [f"\n## {group}\n", *([_SECURITY] if group == "Security" else []), *map(_section, rows)]
    return "".join([*parts, _THREATS, *map(_boundary, boundaries())])


def _summary(groups: dict[str, list[Row]]) -> Iterator[str]:
    yield "\n| | tested | in part | absent |\n|---|---|---|---|\n"
    for group, rows in groups.items():
        yield f"| [{group}](#{_anchor(group)}) | {_counts(rows)} |\n"
    yield f"| all | {_counts([row for rows in groups.values() for row in rows])} |\n"


def _counts(rows: Iterable[Row]) -> str:
    found = Counter(row.state for row in rows)
    return " | ".join(str(found[state]) for state in State)


def _anchor(heading: str) -> str:
    """As code hosts make it of a heading."""
    return "".join(letter for letter in heading.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def _section(row: Row) -> str:
    lines = [f"\n**{row.row}. {row.fault}** ({row.state})", row.promise]
    if row.note:
        lines.append(f"*{'Note' if row.state is State.TESTED else 'Missing'}:* {row.note}")
    if row.tests:
        shown = [*map(_link, row.tests), *(f"`make {drill}`" for drill in row.drills)]
        lines.append(f"*Shown by:* {', '.join(shown)}")
    return "\\\n".join(lines) + "\n"


def _boundary(one: Boundary) -> str:
    shown = ", ".join(map(_link, one.tests))
    return f"\n**{one.boundary}**\\\n*Trusted:* {one.trusted}\\\n*Checked:* {one.checked}\\\n*Shown by:* {shown}\n"


def _link(test: str) -> str:
    path, _, function = test.partition("::")
    return f"[`{function}`](../{path})"


if __name__ == "__main__":
    print(document(), end="")
