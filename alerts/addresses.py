"""Where people reach what a page links to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses for people, '' for what they do not reach.

    external_url: our API. runbook_url: of a runbook, with ``{kind}`` and ``{root}`` in it; '' for our own.
    alertmanager_url: of the Alertmanager that has the alert.
    """

    external_url: str = ""
    grafana_url: str = ""
    runbook_url: str = ""
    alertmanager_url: str = ""
