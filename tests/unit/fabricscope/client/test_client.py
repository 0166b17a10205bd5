"""The client for Python, against the real API."""

import asyncio
import time
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bus.base import Message
from common.errors import BadInput, ConfigError, Unavailable
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.change_event import ChangeEvent
from fabricscope.api.config import ApiConfig
from fabricscope.api.instants import rfc3339
from fabricscope.api.service import ApiService
from fabricscope.client import ApiError, Client
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.findings import FindingState
from telemetry.incidents import IncidentState
from tests.servers.process import free_port
from tests.unit.fabricscope.api.traffic import eventually, finding, incident, publish_cluster
from tests.unit.fabricscope.cli.test_asking_an_api import publish_accounts
from tests.unit.traffic import publish_incidents


def token(folder: Path, scope: Scope) -> Path:
    """A file with a new token."""
    _, secret = TokenStore(folder).create(scope, [scope], lasts_s=3600.0, now_ns=time.time_ns())
    file = folder / f"{scope}.token"
    file.write_text(secret)
    return file


async def test_it_reads_incidents_with_all_that_they_reach(api, bus, monkeypatch):
    monkeypatch.setattr("fabricscope.client.connection.PAGE", 2)
    over = incident("a/b", IncidentState.RESOLVED)
    await publish_incidents(bus, *(incident(f"i{number}", gpu_seconds=9 - number) for number in range(4)), over)
    await eventually(api.url, "/api/v1/incidents", lambda body: len(body) == 5)

    def read() -> None:
        with Client(api.url) as client:
            assert [one.id for one in client.incidents()] == ["i0", "i1", "i2", "i3", "a/b"]
            assert [one.id for one in client.incidents(order="newest")] == ["i3", "i2", "i1", "i0", "a/b"]
            assert [one.id for one in client.incidents(state="resolved", severity="critical")] == ["a/b"]
            assert list(client.incidents(object="node7")) == []
            assert list(client.incidents(until=rfc3339(over.onset_ns))) == [], "it began then, and the others later"
            hour_ago = datetime.fromtimestamp(time.time() - 3600, UTC)
            assert len(list(client.incidents(since=hour_ago))) == 5
            assert list(client.incidents(until=hour_ago.timestamp())) == []
            one = client.incident("i3")
            assert (one.blast.gpus.count, one.resolved) == (2, None)
            assert one.onset < one.opened < (one.fired or "")
            assert [member.name for member in client.members("i3", kind="gpu")] == ["node1/GPU-1", "node1/GPU-2"]
            assert len(list(client.members("i3"))) == 6

    await asyncio.to_thread(read)


async def test_it_reads_the_ledger_by_stage_target_and_job(api, bus):
    await publish_accounts(bus)
    await eventually(api.url, "/api/v1/ledger/targets", lambda body: len(body) == 2)
    await eventually(api.url, "/api/v1/ledger", len)

    def read() -> None:
        with Client(api.url) as client:
            assert [one.samples_in for one in client.stage_reports()] == [1205]
            assert [one.target for one in client.target_accounts()] == ["gpu/n1:9400", "gpu/n2:9400"]
            assert [one.received for one in client.target_accounts(dropped=False, balanced=True)] == [5]
            assert [one.device for one in client.target_accounts(job="gpu", device="n2")] == ["n2"]
            assert [(one.job, one.balance) for one in client.job_accounts()] == [("gpu", 0)]

    await asyncio.to_thread(read)


async def test_it_reads_findings_targets_and_changes_and_announces(api, bus, state_dir):
    await publish_cluster(bus)
    one = finding("f1", FindingState.ACTIVE)
    await bus.publish(topics.FINDINGS, [Message(b"f1", encode_record(changed(one, onset_ns=1)))])
    await eventually(api.url, "/api/v1/targets", len)
    await eventually(api.url, "/api/v1/findings", len)
    ack = token(state_dir, Scope.ACK)
    work = ChangeEvent.model_validate({"kind": "drain", "objects": ["device:node1"], "id": "d1"})

    def read() -> None:
        with Client(api.url, token_file=ack) as client:
            assert [found.onset for found in client.findings(state="active")] == ["1970-01-01T00:00:00.000000001Z"]
            assert [target.target for target in client.targets(up=True)] == ["gnmi/leaf1"]
            assert list(client.targets(device="node1")) == []
            assert client.announce(work).id == "d1"
            with pytest.raises(ApiError) as refused:
                client.start_replay("pod1")
            assert (refused.value.status, refused.value.error_type) == (403, "forbidden")

    await asyncio.to_thread(read)
    await eventually(api.url, "/api/v1/changes", len)

    def read_changes() -> None:
        with Client(api.url) as client:
            assert [change.objects for change in client.changes(kind="drain")] == [("device:node1",)]
            assert list(client.changes(until="2020-01-01T00:00:00Z")) == []

    await asyncio.to_thread(read_changes)


async def test_errors_say_where_what_and_what_to_do(api):
    def ask() -> None:
        with Client(f"{api.url}/") as client:
            for call, status, text in (
                (lambda: client.incident("none"), 404, "/api/v1/incidents/none: 404 not_found: no incident none"),
                (lambda: list(client.incidents(kind="cable")), 422, "422 bad_data: query.kind: "),
                (lambda: list(client.incidents(since=datetime(2026, 1, 31))), 422, "query.since: expected a time as"),  # noqa: DTZ001
                (lambda: client.start_replay("pod1"), 401, "401 unauthorized: unauthorized; expected a token"),
                (lambda: client.replays(), 404, "api.recordings_dir is not set"),
            ):
                with pytest.raises(ApiError) as caught:
                    call()
                assert caught.value.status == status
                assert text in str(caught.value)

    await asyncio.to_thread(ask)


def test_without_an_answer_it_says_who_does_not():
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url) as client, pytest.raises(Unavailable, match=f"^{url} does not answer: nobody listens there$"):
        list(client.targets())


def test_a_token_that_is_not_there_is_named(tmp_path):
    with (
        Client("http://127.0.0.1:1", token_file=tmp_path / "none.token") as client,
        pytest.raises(Unavailable, match=r"none\.token: No such file"),
    ):
        client.replays()


@pytest.mark.parametrize("url", ["", "127.0.0.1:9099", "ftp://host", "http://", "http://host/?x=1", "http://host/#x"])
def test_what_is_no_address_is_refused_with_an_example(url):
    with pytest.raises(ConfigError, match=r"expected the address of an API, such as http://127\.0\.0\.1:9099"):
        Client(url)


async def test_an_answer_of_something_else_is_not_believed(api, bus):
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)

    def ask() -> None:
        with Client(f"{api.url}/docs") as client, pytest.raises(ApiError, match="404 not_found"):
            list(client.targets())
        with Client(api.url) as client, pytest.raises(BadInput, match="is it an API of this release"):
            client._api.get(int, "/api/v1/incidents")

    await asyncio.to_thread(ask)


async def test_over_tls_it_knows_whom_it_asks(bus, replace, certificates, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    config = ApiConfig(
        port=0,
        state_dir=tmp_path / "api",
        tls_cert_file=certificates.certificate("server"),
        tls_key_file=certificates.key("server"),
        bearer_token_file=tmp_path / "token",
    )
    service = await replace(ApiService(config, bus))

    def ask() -> None:
        with Client(service.url, token_file=tmp_path / "token", ca_file=certificates.authority) as client:
            assert list(client.targets()) == []
        with (
            Client(service.url, token_file=tmp_path / "token") as client,
            pytest.raises(Unavailable, match="CERTIFICATE"),
        ):
            list(client.targets())

    await asyncio.to_thread(ask)
