"""Where people go on from an incident: a silence of it, its board, its runbook."""

from dataclasses import dataclass, field
from urllib.parse import quote

from alerts.addresses import Addresses
from alerts.config import AlertingConfig
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.rendering.links import links_about
from fabricscope.api.routes.runbooks import OBJECT_CHARS_MAX
from telemetry.incidents import Incident


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses, as in what is paged; '' where nothing is reached. silence: the form of an Alertmanager, filled in with
    this incident. runbook: also without an address of our own, on this API."""

    silence: str = ""
    board: str = ""
    runbook: str = ""


@dataclass(frozen=True, slots=True)
class PagingLinks:
    """cluster: the label of the alerts. The first Alertmanager that people reach is the one that silences."""

    addresses: Addresses = field(default_factory=Addresses)
    cluster: str = ""

    @classmethod
    def of(cls, config: AlertingConfig) -> "PagingLinks":
        ours = (one.reached_at for one in config.receivers if isinstance(one, AlertmanagerConfig))
        silencing = next(filter(None, ours), "")
        return cls(Addresses("", config.grafana_url, config.runbook_url, silencing), config.cluster)

    def about(self, incident: Incident) -> Links:
        found = links_about(incident, self.cluster, self.addresses)
        root = str(incident.root)
        ours = f"/runbooks/{incident.kind}" + (
            f"?object={quote(root, safe='')}" if len(root) <= OBJECT_CHARS_MAX else ""
        )
        return Links(found.get("silence_url", ""), found.get("dashboard_url", ""), found.get("runbook_url", ours))
