"""The kinds of hostile targets: how each misbehaves, and what the product must make of it."""

from dataclasses import dataclass
from enum import StrEnum

from ingest.ledger import DropReason
from telemetry.samples import DownReason

UP = "up"


class Protocol(StrEnum):
    HTTP = "http"
    HTTPS = "https"
    GNMI = "gnmi"


@dataclass(frozen=True, slots=True)
class Kind:
    """weight: how many of a thousand hostile targets are of this kind.

    outcome: what its collections must end as: ``up``, or why they are down.
    drops: why samples of it are dropped, where it is up and is cut.
    """

    name: str
    weight: int
    outcome: str
    protocol: Protocol = Protocol.HTTP
    drops: DropReason | None = None


KINDS = (
    Kind("never_answers", 150, DownReason.TIMEOUT),
    Kind("byte_a_second", 60, DownReason.TIMEOUT),
    Kind("gzip_bomb", 30, DownReason.TOO_LARGE),
    Kind("endless_body", 30, DownReason.TOO_LARGE),
    Kind("login_page", 100, DownReason.NOT_EXPOSITION),
    Kind("reset_in_body", 80, DownReason.RESET),
    Kind("million_series", 20, DownReason.TOO_MANY_SERIES),
    Kind("clock_ahead", 50, DownReason.NO_SAMPLES, drops=DropReason.EVENT_TIME),
    Kind("clock_behind", 50, DownReason.NO_SAMPLES, drops=DropReason.EVENT_TIME),
    Kind("renamed_labels", 60, UP, drops=DropReason.NEW_SERIES),
    Kind("redirect", 70, DownReason.REDIRECT),
    Kind("nested_gzip", 40, DownReason.NOT_EXPOSITION),
    Kind("long_label", 40, DownReason.TOO_LARGE),
    Kind("tls_untrusted", 50, DownReason.TLS, Protocol.HTTPS),
    Kind("tls_other_name", 50, DownReason.TLS, Protocol.HTTPS),
    Kind("tls_absent", 50, DownReason.TLS, Protocol.HTTPS),
    Kind("gnmi_pings", 10, DownReason.TOO_LARGE, Protocol.GNMI),
    Kind("gnmi_settings", 10, DownReason.TOO_LARGE, Protocol.GNMI),
    Kind("gnmi_tiny_updates", 10, UP, Protocol.GNMI, DropReason.QUOTA),
    Kind("gnmi_never_syncs", 15, UP, Protocol.GNMI),
    Kind("gnmi_closes", 15, DownReason.CLOSED, Protocol.GNMI),
    Kind("gnmi_half_open", 10, DownReason.TIMEOUT, Protocol.GNMI),
)


def counts(total: int) -> dict[str, int]:
    """How many targets each kind has: by weight, at least one; the first kind has what is left.

    >>> sum(counts(1000).values()), sum(counts(60).values()), min(counts(60).values())
    (1000, 60, 1)
    """
    shares = {kind.name: max(1, round(kind.weight * total / 1000)) for kind in KINDS}
    first = KINDS[0].name
    return shares | {first: max(1, total - sum(shares.values()) + shares[first])}
