"""What the exit status of each command says, at the end of its help."""

from collections.abc import Mapping

_STAGES = ("ingest", "analytics", "alerts", "export", "recorder", "api")
_OF_A_STAGE = {
    0: "it was asked to stop",
    1: "the settings are wrong, or something failed: start it again",
    3: "a newer process does its work: leave it ended",
}
_USUAL = {0: "done", 1: "not done; one line on standard error says why"}
_WRONG = {2: "the command line is wrong"}
_OWN: Mapping[str, Mapping[int, str]] = {
    **dict.fromkeys(_STAGES, _OF_A_STAGE),
    "run": {0: "it was asked to stop", 1: "a stage cannot start; one line on standard error says why"},
    "simulate": {0: "it was asked to stop", 1: "it cannot start; one line on standard error says why"},
    "collect": {0: "every target answered", 1: "a target did not answer, or the settings are wrong"},
    "detect": {0: "scored", 1: _USUAL[1], 3: "with --fail-on-alert: scored, and a row alerts"},
    "check config": {0: "the settings are valid", 1: "they are not; standard error says what, by file:line:column"},
    "check dashboards": {0: "every board keeps the rules", 1: "a board does not; each complaint is a line"},
    "dashboards check": {0: "every board keeps the rules", 1: "a board does not; each complaint is a line"},
    "deadletter replay": {0: "published again", 1: "one or more could not be, or nobody said yes"},
}


def exit_statuses(command: str) -> str:
    """One line for the help of ``command`` (its path, such as ``config print``)."""
    meanings = dict(sorted({**_OWN.get(command, _USUAL), **_WRONG}.items()))
    return "Exit status: " + "; ".join(f"{status} {meaning}" for status, meaning in meanings.items()) + "."
