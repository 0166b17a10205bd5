"""``python -m telemetry.kinds``: all findings and incidents for people, ``docs/kinds.md``."""

from collections.abc import Iterator

from telemetry.incidents import Severity
from telemetry.kinds import Effect, Prediction, Within, effects, finding_kinds, incident_kinds

_OF_ITS_ROOT = [
    kind for kind, row in incident_kinds().items() if row.predicts == dict.fromkeys(Effect, Prediction(Within.OWN))
]


def document() -> str:
    """Markdown: tables of findings with their detectors, of incidents, and of what each kind of incident predicts."""
    return "\n".join([*_findings(), *_incidents(), *_predictions()]) + "\n"


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
        least = f"always {least}" if row.severity_ceiling is Severity.INFO else least
        yield f"| `{kind}` | {row.meaning} | {row.root} | {row.domain} | {least} | {action} |"


def _predictions() -> Iterator[str]:
    yield ""
    yield "## What a cause predicts"
    yield ""
    yield "A cause explains a symptom only where it predicts its effect"
    yield "([correlation.md](correlation.md#the-steps-of-a-tick))."
    yield f"{', '.join(f'`{kind}`' for kind in _OF_ITS_ROOT)} explain everything about their root, and nothing else."
    yield ""
    yield "| effect | predicted by, and how far |"
    yield "|---|---|"
    for effect, row in effects().items():
        yield f"| `{effect}`: {row.meaning.replace('{object}', 'it')} | {_by(effect)} |"


def _by(effect: Effect) -> str:
    """The kinds of incidents that predict an effect, by how far it reaches."""
    found: dict[Within, list[str]] = {within: [] for within in Within}
    for kind, row in incident_kinds().items():
        if kind in _OF_ITS_ROOT:
            continue
        if prediction := row.predicts.get(effect):
            through = ", ".join(f"`{each}`" for each in sorted(prediction.through))
            sends = ", ".join(f"`{each}`" for each in sorted(prediction.silent_through or ()))
            silent = f" (of a job that sends nothing, only through {sends})" if sends else ""
            found[prediction.within].append(f"`{kind}`{f' through {through}' if through else ''}{silent}")
    return "; ".join(f"{within}: {', '.join(kinds)}" for within, kinds in found.items() if kinds)


if __name__ == "__main__":
    print(document(), end="")
