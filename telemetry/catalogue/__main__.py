"""``python -m telemetry.catalogue``: the catalogue as a document, ``docs/metrics.md``."""

from collections import defaultdict
from collections.abc import Mapping

from telemetry.catalogue import Metric, metrics, origins_of, source_names


def document() -> str:
    """Markdown: one table row for each metric."""
    lines = [
        "# Metrics",
        "",
        "Written by `make docs` from `telemetry/catalogue/`. Labels that identify an object come from the settings.",
        "",
        "| metric | kind | unit | labels | description | names in the sources |",
        "|---|---|---|---|---|---|",
    ]
    named = _names()
    return "\n".join([*lines, *(_row(metric, named[metric.name]) for metric in metrics().values())]) + "\n"


def _names() -> Mapping[str, list[str]]:
    """What each system calls each metric."""
    found: dict[str, list[str]] = defaultdict(list)
    for system in source_names():
        names: dict[str, dict[str, None]] = defaultdict(dict)
        for metric, origin in origins_of(system):
            names[metric.name][f"`{origin.name}`"] = None
        for name, theirs in names.items():
            found[name].append(f"{system}: {', '.join(theirs)}")
    return found


def _row(metric: Metric, names: list[str]) -> str:
    labels = ", ".join(metric.labels)
    cells = (f"`{metric.name}`", metric.kind.value, metric.unit, labels, metric.help, "<br>".join(names))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    print(document(), end="")
