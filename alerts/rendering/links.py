"""Where a page leads: to its incident, a board at that time, the runbook, and a silence. Pure."""

import json
from collections.abc import Iterator
from urllib.parse import quote

from alerts.addresses import Addresses
from alerts.notification import Notification
from alerts.own_kinds import OWN_KINDS
from alerts.rendering.text import LABEL_CHARS_MAX, TEXT_CHARS_MAX, clean
from common.units import NS_PER_MS, NS_PER_S
from telemetry.boards import BOARD_OF
from telemetry.incidents import Incident
from telemetry.kinds import incident_kinds

MARGIN_NS = 15 * 60 * NS_PER_S
"""Shown before the onset and after the end: enough to see what was normal (assumption)."""


def links_of(notification: Notification, to: Addresses) -> dict[str, str]:
    """Annotations whose values are links. Only those for which there is an address, and none that would be cut."""
    return links_about(notification.incident, notification.labels.get("cluster", ""), to)


def links_about(incident: Incident, cluster: str, to: Addresses) -> dict[str, str]:
    """The same of an incident of a cluster, as the NOC page has them, too."""
    return {name: url for name, url in _links(incident, cluster, to) if len(url) <= TEXT_CHARS_MAX}


def incident_url(incident: Incident, external_url: str) -> str:
    """The incident on the NOC page, '' without an address of our own. Ours about ourselves: what else is open."""
    if not external_url:
        return ""
    page = f"{external_url.rstrip('/')}/"
    return page if incident.kind in OWN_KINDS else f"{page}#incident={quote(incident.id, safe='')}"


def _links(incident: Incident, cluster: str, to: Addresses) -> Iterator[tuple[str, str]]:
    if url := incident_url(incident, to.external_url):
        yield "incident_url", url
    if to.grafana_url:
        yield "dashboard_url", f"{to.grafana_url.rstrip('/')}/{_board(incident, cluster)}"
    if to.runbook_url:
        yield "runbook_url", _filled(to.runbook_url, incident)
    elif to.external_url:
        yield "runbook_url", _filled(f"{to.external_url.rstrip('/')}/runbooks/{{kind}}?object={{root}}", incident)
    if to.alertmanager_url:
        matcher = quote(f"{{incident_id={json.dumps(incident.id, ensure_ascii=False)}}}", safe="")
        yield "silence_url", f"{to.alertmanager_url.rstrip('/')}/#/silences/new?filter={matcher}"


def _filled(pattern: str, incident: Incident) -> str:
    name = clean(str(incident.root), LABEL_CHARS_MAX)
    climbs = not {".", ".."}.isdisjoint(name.split("/"))  # a browser would leave the folder of the runbooks
    root = quote(name, safe=":" if climbs else ":/")
    return pattern.replace("{kind}", incident.kind).replace("{root}", root)


def _board(incident: Incident, cluster: str) -> str:
    """Its path and query. The range of an open incident ends when somebody looks."""
    uid = BOARD_OF[incident_kinds()[incident.kind].domain]
    from_ms = max(0, incident.onset_ns - MARGIN_NS) // NS_PER_MS
    until = (incident.resolved_ns + MARGIN_NS) // NS_PER_MS if incident.resolved_ns else "now"
    variable = f"&var-cluster={quote(cluster, safe='')}" if cluster else ""
    return f"d/{uid}?from={from_ms}&to={until}{variable}"
