"""``python -m telemetry.catalogue``: the catalogue as a page for people, ``docs/metrics.md``."""

from telemetry.catalogue import Metric, metrics


def page() -> str:
    """Markdown: a table row a metric."""
    lines = [
        "# Metrics",
        "",
        "Written by `make pages` from `telemetry/catalogue/`. Labels that name a thing come from the settings.",
        "",
        "| metric | kind | unit | labels | what it is | called elsewhere |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, metrics().values())]) + "\n"


def _row(metric: Metric) -> str:
    names = dict.fromkeys(f"{origin.source}: `{origin.name}`" for origin in metric.origins)
    labels = ", ".join(metric.labels)
    cells = (f"`{metric.name}`", metric.kind.value, metric.unit, labels, metric.help, "<br>".join(names))
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    print(page(), end="")
