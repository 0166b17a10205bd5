"""Pages over TLS from a real exporter: who is talked to, and who is let in."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography import x509
from prometheus_client import REGISTRY

from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import TargetGroup, resolve
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.servers.certificates import Certificates
from tests.servers.node_exporter import TlsStarter


async def scraped(
    address: str, *, in_the_clear: bool = False, seen: Callable[[str], None] = lambda _: None, **tls: object
) -> SampleBatch:
    """One collection by a collector of its own. seen: called with the target's name before it stops."""
    scheme = "http" if in_the_clear else "https"
    job = ScrapeConfig.model_validate(
        {"job_name": "node", "source": "node_exporter", "scheme": scheme, "tls_config": tls}
    )
    (target,) = resolve(job, [TargetGroup(targets=(address,), labels={"device": "node1"})])
    with ThreadPoolExecutor(1) as workers:
        collector = ExpositionCollector(job, target, CollectorContext(Ledger(0), lambda: 7, workers))
        batch = await collector.collect(1_760_000_000 * 10**9)
        seen(collector.name)
        await collector.stop()
    return batch


@pytest.mark.parametrize("name", [None, "switch.example"], ids=["by address", "by name"])
async def test_an_exporter_that_proves_who_it_is_is_scraped(
    tls_node_exporter: TlsStarter, certificates: Certificates, name: str | None
) -> None:
    batch = await scraped(tls_node_exporter(), ca_file=certificates.authority, server_name=name)
    assert batch.collection.up
    assert 'node_boot_time_seconds{device="node1"}' in {batch.table.keys[row] for row in batch.series}


async def test_a_client_certificate_opens_an_exporter_that_asks_for_one(
    tls_node_exporter: TlsStarter, certificates: Certificates
) -> None:
    address = tls_node_exporter(client_certificate=True)
    cert_file, key_file = certificates.certificate("client"), certificates.key("client")
    welcome = await scraped(address, ca_file=certificates.authority, cert_file=cert_file, key_file=key_file)
    assert welcome.collection.up
    refused = await scraped(address, ca_file=certificates.authority)
    assert (refused.collection.down, len(refused)) == (DownReason.TLS, 0)


async def test_an_exporter_that_cannot_prove_its_name_is_not_asked(
    tls_node_exporter: TlsStarter, certificates: Certificates
) -> None:
    address = tls_node_exporter()
    assert (await scraped(address)).collection.down is DownReason.TLS, "an authority that is not known"
    another = await scraped(address, ca_file=certificates.authority, server_name="another.example")
    assert another.collection.down is DownReason.TLS
    assert (await scraped(address, insecure_skip_verify=True)).collection.up


async def test_an_expired_certificate_is_refused(tls_node_exporter: TlsStarter, certificates: Certificates) -> None:
    refused = await scraped(tls_node_exporter(name="expired"), ca_file=certificates.authority)
    assert (refused.collection.down, len(refused)) == (DownReason.TLS, 0)


async def test_when_the_certificate_of_a_target_expires_is_a_metric(
    tls_node_exporter: TlsStarter, certificates: Certificates
) -> None:
    expected = x509.load_pem_x509_certificate(certificates.certificate("server").read_bytes()).not_valid_after_utc
    metric = "fabricscope_ingest_certificate_expiry_timestamp_seconds"
    found: list[float | None] = []
    address = tls_node_exporter()
    await scraped(
        address,
        seen=lambda name: found.append(REGISTRY.get_sample_value(metric, {"target": name})),
        ca_file=certificates.authority,
    )
    assert found == [expected.timestamp()]
    assert REGISTRY.get_sample_value(metric, {"target": f"node/{address}"}) is None, "a target that is gone has none"


async def test_a_page_in_the_clear_is_not_to_be_had_from_it(tls_node_exporter: TlsStarter) -> None:
    assert (await scraped(tls_node_exporter(), in_the_clear=True)).collection.down is DownReason.HTTP_STATUS
