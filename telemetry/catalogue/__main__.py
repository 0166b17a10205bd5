"""``python -m telemetry.catalogue``: the catalogue as a document, ``docs/metrics.md``."""

from telemetry.catalogue import Metric, metrics


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
    return "\n".join([*lines, *map(_row, metrics().values())]) + "\n"


def _row(metric: Metric) -> str:
    names = dict.fromkeys(f"{origin.source}: `{origin.name}`" for origin in metric.origins)
    labels = ", ".join(metric.labels)
    cells = (f"`{metric.name}`", metric.kind.value, metric.unit, labels, metric.help, "<br>".join(names))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    print(document(), end="")
