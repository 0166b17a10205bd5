"""What the API can be asked, as methods."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from fabricscope.api import views
from fabricscope.api.change_event import ChangeEvent
from fabricscope.client.connection import Connection

URL = "http://127.0.0.1:9099"
When = datetime | str | float
"""A time with its zone, as RFC 3339, or in seconds since the Unix epoch."""


class Client:
    """The API at ``url``. Lists are read page by page while they are iterated; words are those of docs/api.md.

    token_file: a file with a token, where one is needed. ca_file: certificates to trust instead of the system's.
    Every method raises ``ApiError`` for an answer that is an error, ``common.errors.Unavailable`` without an answer,
    and ``common.errors.BadInput`` for one that this release cannot read. Not usable where an event loop runs.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        token_file: Path | str | None = None,
        ca_file: Path | str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        token, authorities = (None if file is None else Path(file) for file in (token_file, ca_file))
        self._api = Connection(url, token, authorities, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        return self._api.url

    def close(self) -> None:
        """Ends its connections."""
        self._api.close()

    def incidents(
        self,
        *,
        state: str | None = None,
        severity: str | None = None,
        kind: str | None = None,
        object: str | None = None,
        since: When | None = None,
        until: When | None = None,
        since_first_seen: bool | None = None,
        order: str = "worst",
    ) -> Iterator[views.Incident]:
        """Those that every given key applies to, worst first; ``order="newest"``: in an order that does not change."""
        asked = {
            "state": state,
            "severity": severity,
            "kind": kind,
            "object": object,
            "since": _time(since),
            "until": _time(until),
            "since_first_seen": since_first_seen,
            "order": order,
        }
        return self._api.pages(views.Incident, "/api/v1/incidents", asked)

    def incident(self, identity: str) -> views.Incident:
        return self._api.get(views.Incident, f"/api/v1/incidents/{quote(identity, safe='')}")

    def members(self, identity: str, kind: str | None = None) -> Iterator[views.Member]:
        """All that an incident reaches, and the findings that it explains."""
        return self._api.pages(views.Member, f"/api/v1/incidents/{quote(identity, safe='')}/members", {"kind": kind})

    def findings(
        self, *, state: str | None = None, kind: str | None = None, object: str | None = None
    ) -> Iterator[views.Finding]:
        """Newest first."""
        return self._api.pages(views.Finding, "/api/v1/findings", {"state": state, "kind": kind, "object": object})

    def events(
        self,
        *,
        kind: str | None = None,
        state: str | None = None,
        object: str | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> Iterator[views.Event]:
        """Latest beginning first."""
        asked = {"kind": kind, "state": state, "object": object, "since": _time(since), "until": _time(until)}
        return self._api.pages(views.Event, "/api/v1/events", asked)

    def incident_events(self, identity: str) -> Iterator[views.Event]:
        """Those of what an incident is about or reaches, in its time."""
        return self._api.pages(views.Event, f"/api/v1/incidents/{quote(identity, safe='')}/events", {})

    def targets(self, *, up: bool | None = None, device: str | None = None) -> Iterator[views.Target]:
        """Down first, then by name."""
        return self._api.pages(views.Target, "/api/v1/targets", {"up": up, "device": device})

    def stage_reports(self) -> list[views.StageReport]:
        """Samples in, out and dropped of each process, by stage."""
        return self._api.get(list[views.StageReport], "/api/v1/ledger")

    def target_accounts(
        self,
        *,
        device: str | None = None,
        job: str | None = None,
        dropped: bool | None = None,
        balanced: bool | None = None,
    ) -> Iterator[views.TargetAccount]:
        """Unbalanced first, then those that lost most samples."""
        asked = {"device": device, "job": job, "dropped": dropped, "balanced": balanced}
        return self._api.pages(views.TargetAccount, "/api/v1/ledger/targets", asked)

    def job_accounts(self) -> list[views.JobAccount]:
        """The sums of each job's targets, by name."""
        return self._api.get(list[views.JobAccount], "/api/v1/ledger/jobs")

    def changes(
        self, *, kind: str | None = None, since: When | None = None, until: When | None = None
    ) -> Iterator[views.Change]:
        """Latest start first."""
        asked = {"kind": kind, "since": _time(since), "until": _time(until)}
        return self._api.pages(views.Change, "/api/v1/changes", asked)

    def announce(self, change: ChangeEvent) -> views.Change:
        """Returns once the change is durable. Needs a token with the scope ``ack``."""
        return self._api.post(views.Change, "/api/v1/changes", change)

    def replays(self) -> list[views.Replay]:
        """Newest first, at most 10."""
        return self._api.get(list[views.Replay], "/api/v1/replays")

    def replay(self, identity: str) -> views.Replay:
        return self._api.get(views.Replay, f"/api/v1/replays/{quote(identity, safe='')}")

    def replayed_incidents(self, identity: str) -> Iterator[views.Incident]:
        """What a replay found, worst first, once it is done."""
        return self._api.pages(views.Incident, f"/api/v1/replays/{quote(identity, safe='')}/incidents", {})

    def start_replay(self, recording: str) -> views.Replay:
        """Returns once it runs. Needs a token with the scope ``replay``."""
        return self._api.post(views.Replay, "/api/v1/replays", {"recording": recording})


def _time(when: When | None) -> str | None:
    """A datetime without a zone is refused by the API."""
    return when.isoformat() if isinstance(when, datetime) else None if when is None else str(when)
