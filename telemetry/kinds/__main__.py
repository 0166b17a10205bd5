"""``python -m telemetry.kinds``: all findings and incidents for people, ``docs/kinds.md``."""

from collections.abc import Iterator

from telemetry.kinds import finding_kinds, incident_kinds


def document() -> str:
    """Markdown: a table of findings with their detectors, and one of incidents."""
    return "\n".join([*_findings(), *_incidents()]) + "\n"


def _findings() -> Iterator[str]:
    yield "# Kinds of findings and incidents"
    yield ""
    yield "Written by `make docs` from `telemetry/kinds/`."
    yield ""
    yield "## Findings, and the detectors that publish them"
    yield ""
    yield "How a detector works, and what its score means: [detection.md](detection.md)."
    yield ""
    yield "| finding | about | detector | finds | limit, and where it comes from |"
    yield "|---|---|---|---|---|"
    for kind, row in finding_kinds().items():
        about = ", ".join(each.replace("_", " ") for each in row.objects) or "any object"
        for name, detector in row.detectors.items():
            yield f"| `{kind}` | {about} | `{name}` | {detector.finds} | {detector.limit} |"


def _incidents() -> Iterator[str]:
    yield ""
    yield "## Incidents"
    yield ""
    yield "How one is chosen: [correlation.md](correlation.md). Its severity rises with what it costs."
    yield ""
    yield "| incident | what broke | root | domain | least severity | first action |"
    yield "|---|---|---|---|---|---|"
    for kind, row in incident_kinds().items():
        action = row.action.replace("{root}", "`root`").replace("{device}", "`device`")
        least = row.severity_floor if row.pages_without_waiting else f"info, {row.severity_floor} once a job waits"
        yield f"| `{kind}` | {row.meaning} | {row.root} | {row.domain} | {least} | {action} |"


if __name__ == "__main__":
    print(document(), end="")
