"""The settings of the product in a soak: with good targets alone, and with hostile ones beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.soak import addresses
from tests.acceptance.soak.addresses import good_addresses, hostile_addresses
from tests.acceptance.soak.hostile_switches import TINY_PER_S
from tests.acceptance.soak.kinds import KINDS, Kind, Protocol, counts
from tests.acceptance.soak.plan import Plan
from tests.servers.certificates import Certificates

NEW_SERIES_PER_HOUR = 1000
SERIES_TTL_S = 600.0  # so that what was renamed at the beginning is forgotten within the run
GOOD_JOBS = ("hosts", "switches", "chassis")
_SUBSCRIBED = "/interfaces"


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are. good_port, hostile_port: of all targets, each at an address of its own."""

    folder: Path
    good_port: int
    hostile_port: int
    api_port: int
    bootstrap: str
    write_url: str | None
    receivers: Mapping[str, str]
    trusted: Certificates
    untrusted: Certificates

    @property
    def settings_file(self) -> Path:
        return self.folder / "fabricscope.yaml"


def write_settings(plan: Plan, places: Places, *, hostile: bool) -> None:
    hosts, switches = addresses.hosts_and_switches(plan.good)
    chassis = good_addresses(addresses.CHASSIS, addresses.CHASSIS_COUNT)
    scraped = [
        _scraped(plan, "hosts", _listed(places.good_port, good_addresses(addresses.HOSTS, hosts), "host")),
        _scraped(plan, "chassis", _listed(places.good_port, chassis, "chassis")),
    ]
    streamed = [_streamed(plan, "switches", places.good_port, good_addresses(addresses.SWITCHES, switches))]
    for kind in KINDS if hostile else ():
        listening = hostile_addresses(kind.name, counts(plan.hostile)[kind.name])
        if kind.protocol is Protocol.GNMI:
            streamed.append(_streamed(plan, kind.name, places.hostile_port, listening))
        else:
            # the renamed series come from a second exporter of good hosts
            device = "host" if kind.name == "renamed_labels" else kind.name
            more = _tls(kind, places) if kind.protocol is Protocol.HTTPS else {}
            if kind.name == "renamed_labels":
                more["source"] = "node_exporter"
            scraped.append(_scraped(plan, kind.name, _listed(places.hostile_port, listening, device)) | more)
    document = _stages(plan, places) | {"scrape_configs": scraped, "gnmi_configs": streamed}
    places.settings_file.write_text(yaml.safe_dump(document, sort_keys=False))


def _stages(plan: Plan, places: Places) -> dict[str, Any]:
    stages = ("ingest", "analytics", "alerts", "export", "recorder")
    receivers = [
        {"name": name, "type": "webhook", "url": url, "timeout_s": 2.0} for name, url in places.receivers.items()
    ]
    return {
        "global": {
            "cluster": "soak",
            "data_dir": str(places.folder / "data"),
            "metrics_ports": dict.fromkeys(stages, 0),
        },
        "bus": {"kind": "kafka", "kafka": {"bootstrap": [places.bootstrap]}},
        "ingest": {
            "new_series_per_hour": NEW_SERIES_PER_HOUR,
            "report_interval_s": 1.0,
            "publish": {"spool": {"free_bytes_min": 0}},
        },
        "analytics": {
            "engine": {"interval_s": plan.interval_s, "series_ttl_s": SERIES_TTL_S},
            "report_every_s": 1.0,
        },
        "alerting": {"receivers": receivers},
        "remote_write": [{"url": places.write_url}] if places.write_url else [],
        "recording": {"path": str(places.folder / "recording")},
        "api": {"port": places.api_port},
    }


def _listed(port: int, listening: Sequence[str], device: str) -> list[dict[str, Any]]:
    return [
        {"targets": [f"{address}:{port}"], "labels": {"device": f"{device}{number}"}}
        for number, address in enumerate(listening)
    ]


def _scraped(plan: Plan, job: str, targets: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "job_name": job,
        "source": "dcgm",
        "scrape_interval": f"{plan.interval_s:g}s",
        "static_configs": targets,
    }


def _tls(kind: Kind, places: Places) -> dict[str, Any]:
    """Whom we trust, so that the certificate of this kind cannot be right."""
    trusted = places.untrusted if kind.name == "tls_untrusted" else places.trusted
    name = {} if kind.name == "tls_other_name" else {"server_name": "switch.example"}
    return {"scheme": "https", "tls_config": {"ca_file": str(trusted.authority), **name}}


def _streamed(plan: Plan, job: str, port: int, listening: Sequence[str]) -> dict[str, Any]:
    targets = [{"address": f"{address}:{port}", "device": f"{job}{number}"} for number, address in enumerate(listening)]
    return {
        "job_name": job,
        "interval_s": plan.interval_s,
        "targets": targets,
        "subscriptions": [{"paths": [{"path": _SUBSCRIBED}]}],
        "tls": {"insecure": True},
        "limits": {"updates_per_s": TINY_PER_S / 4},
        "connect_timeout_s": min(10.0, plan.interval_s),
    }
