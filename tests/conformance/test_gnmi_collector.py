"""The gNMI collector against real servers: openconfig's fake device, and small ones that misbehave in known ways."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from ingest.collectors.base import Emission
from ingest.collectors.gnmi.collector import GnmiCollector
from ingest.collectors.gnmi.config import (
    Config,
    LimitsConfig,
    Mode,
    PathConfig,
    Source,
    SubscriptionConfig,
    TargetConfig,
    TlsConfig,
)
from ingest.collectors.gnmi.paths import parse_path
from ingest.ledger import DropReason, Ledger
from telemetry.gnmi import gnmi_pb2, gnmi_pb2_grpc
from telemetry.samples import Down, SampleBatch
from telemetry.topology import Link, TopologyFact
from tests.servers.gnmi import Certificates, DeviceStarter

COUNTERS = "/interfaces/interface[name=Ethernet1]/state/counters"
Requests = AsyncIterator[gnmi_pb2.SubscribeRequest]
Responses = AsyncIterator[gnmi_pb2.SubscribeResponse]
Behaviour = Callable[[Requests, Any], Responses]


class Emitted:
    """What a collector emitted, in order, and whatever waits for it."""

    def __init__(self) -> None:
        self.batches: list[SampleBatch] = []
        self.facts: list[TopologyFact] = []
        self._changed = asyncio.Event()

    def __call__(self, emission: Emission) -> None:
        if isinstance(emission, SampleBatch):
            self.batches.append(emission)
        else:
            self.facts += emission
        self._changed.set()

    @property
    def downs(self) -> list[Down]:
        return [batch.collection.down for batch in self.batches if batch.collection.down is not None]

    def values(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for batch in self.batches:
            for row, value in zip(batch.series.tolist(), batch.values.tolist(), strict=True):
                found.setdefault(batch.table.keys[row], []).append(value)
        return found

    async def until(self, condition: Callable[[], object], timeout_s: float = 60.0) -> None:
        async with asyncio.timeout(timeout_s):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


def response(*updates: tuple[str, int], prefix: str = COUNTERS, at_ns: int = 0) -> gnmi_pb2.SubscribeResponse:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = at_ns or time.time_ns()
    made.update.prefix.CopyFrom(parse_path(prefix))
    for path, value in updates:
        made.update.update.add(path=parse_path(path)).val.uint_val = value
    return made


SYNC = gnmi_pb2.SubscribeResponse(sync_response=True)


def job(address: str, **changes: Any) -> Config:
    """A job of one target with one path, fast enough for a test."""
    paths = (PathConfig(path="/interfaces", interval_s=0.2),)
    settings: dict[str, Any] = {
        "job_name": "test",
        "interval_s": 0.2,
        "targets": (TargetConfig(address=address, device="leaf1"),),
        "subscriptions": (SubscriptionConfig(paths=paths),),
        "tls": TlsConfig(insecure=True),
        "connect_timeout_s": 2.0,
        "backoff_max_s": 0.2,
    }
    return Config(**{**settings, **changes})


@asynccontextmanager
async def collecting(config: Config) -> AsyncIterator[tuple[Emitted, Ledger]]:
    emitted, ledger = Emitted(), Ledger(time.time_ns())
    collector = GnmiCollector(config, config.targets[0], ledger)
    task = asyncio.create_task(collector.run(emitted))
    try:
        yield emitted, ledger
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@asynccontextmanager
async def serving(
    behaviour: Behaviour, certificates: Certificates | None = None, *, client_certificate: bool = False
) -> AsyncIterator[str]:
    """A gNMI server whose Subscribe is ``behaviour``; its address."""

    class Servicer(gnmi_pb2_grpc.gNMIServicer):
        async def Subscribe(self, request_iterator: Requests, context: Any) -> Responses:
            async for message in behaviour(request_iterator, context):
                yield message

    server = grpc.aio.server()
    gnmi_pb2_grpc.add_gNMIServicer_to_server(Servicer(), server)
    if certificates is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = (certificates.key("server").read_bytes(), certificates.certificate("server").read_bytes())
        roots = certificates.authority.read_bytes() if client_certificate else None
        credentials = grpc.ssl_server_credentials([pair], roots, client_certificate)
        port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


async def steady(requests: Requests, context: Any) -> Responses:
    """A device that does what it was asked for."""
    request = await anext(requests)
    interval_s = request.subscribe.subscription[0].sample_interval / 1e9
    yield SYNC
    for n in range(10_000):
        yield response(("in-octets", n))
        await asyncio.sleep(interval_s)


def stalling(seen: list[str]) -> Behaviour:
    """The first subscription falls silent while TCP lives on; the next one works."""

    async def stall(requests: Requests, context: Any) -> Responses:
        seen.append("subscribe")
        await anext(requests)
        yield SYNC
        yield response(("in-octets", len(seen)))
        if len(seen) == 1:
            await asyncio.sleep(3600)
        async for message in steady_forever():
            yield message

    return stall


async def steady_forever() -> Responses:
    while True:
        yield response(("in-octets", 7))
        await asyncio.sleep(0.1)


async def test_samples_arrive_under_canonical_names() -> None:
    async with serving(steady) as address, collecting(job(address)) as (emitted, ledger):
        key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
        await emitted.until(lambda: len(emitted.values().get(key, [])) >= 3)
        assert emitted.values()[key][:3] == [0.0, 1.0, 2.0]
        assert ledger.samples_in == sum(len(batch) for batch in emitted.batches)
        assert [batch.collection.seq for batch in emitted.batches] == list(range(len(emitted.batches)))
        assert len({id(batch.table) for batch in emitted.batches}) == 1
        assert emitted.downs == []


async def test_silence_is_found_and_resubscribed() -> None:
    seen: list[str] = []
    async with serving(stalling(seen)) as address, collecting(job(address)) as (emitted, _):
        await emitted.until(lambda: Down.SILENT in emitted.downs)
        assert len(seen) == 1
        await emitted.until(lambda: len(seen) > 1 and emitted.batches[-1].collection.up)


async def test_a_device_that_never_syncs_is_used_all_the_same() -> None:
    async def unsynced(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        async for message in steady_forever():
            yield message

    config_changes = {"sync_timeout_s": 0.3}
    async with serving(unsynced) as address, collecting(job(address, **config_changes)) as (emitted, _):
        await emitted.until(lambda: sum(len(batch) for batch in emitted.batches) > 6)
        assert emitted.downs == []


async def test_a_device_that_neither_syncs_nor_sends_is_down() -> None:
    async def mute(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        await asyncio.sleep(3600)
        yield SYNC

    on_change = SubscriptionConfig(paths=(PathConfig(path="/interfaces", mode=Mode.ON_CHANGE),))
    changes = {"subscriptions": (on_change,), "sync_timeout_s": 0.5}
    async with serving(mute) as address, collecting(job(address, **changes)) as (emitted, _):
        await emitted.until(lambda: Down.TIMEOUT in emitted.downs)


async def test_a_clean_end_of_stream_is_a_failure() -> None:
    calls: list[int] = []

    async def closing(requests: Requests, context: Any) -> Responses:
        calls.append(1)
        await anext(requests)
        yield SYNC
        yield response(("in-octets", len(calls)))

    async with serving(closing) as address, collecting(job(address)) as (emitted, _):
        await emitted.until(lambda: len(calls) >= 3 and Down.CLOSED in emitted.downs)
        assert set(emitted.downs) == {Down.CLOSED}


async def test_a_flood_is_cut_to_the_quota_and_counted() -> None:
    async def flooding(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        yield SYNC
        many = [(f"in-{kind}", n) for n, kind in enumerate(["octets", "errors", "discards", "unicast-pkts"])]
        while True:
            yield response(*many)

    limits = LimitsConfig(updates_per_s=100, bytes_per_s=1_000_000)
    began_s = time.monotonic()
    async with serving(flooding) as address, collecting(job(address, limits=limits)) as (emitted, ledger):
        await emitted.until(lambda: ledger.drops[DropReason.QUOTA] > 1000)
        handed_on = sum(len(batch) for batch in emitted.batches)
        assert 0 < handed_on <= 200 + 100 * (time.monotonic() - began_s)
        assert ledger.samples_in == handed_on + ledger.drops[DropReason.QUOTA]


async def test_a_message_above_the_limit_is_refused_with_a_reason() -> None:
    async def huge(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        yield response(*((f"leaf-{n}", n) for n in range(2000)))

    limits = LimitsConfig(message_bytes_max=10_000)
    async with serving(huge) as address, collecting(job(address, limits=limits)) as (emitted, _):
        await emitted.until(lambda: Down.TOO_LARGE in emitted.downs)


async def test_an_absent_device_is_down_each_interval() -> None:
    async with collecting(job("127.0.0.1:1")) as (emitted, _):
        await emitted.until(lambda: len(emitted.downs) >= 3)
        assert set(emitted.downs) == {Down.REFUSED}


async def test_a_delete_ends_the_series_and_an_update_brings_it_back() -> None:
    gate: asyncio.Queue[gnmi_pb2.SubscribeResponse] = asyncio.Queue()

    async def scripted(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        while True:
            yield await gate.get()

    deleted = gnmi_pb2.SubscribeResponse()
    deleted.update.timestamp = time.time_ns()
    deleted.update.delete.append(parse_path("/interfaces/interface[name=Ethernet1]"))
    octets = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
    long = SubscriptionConfig(paths=(PathConfig(path="/interfaces", interval_s=60),))
    async with serving(scripted) as address, collecting(job(address, subscriptions=(long,))) as (emitted, _):
        other = "/interfaces/interface[name=Ethernet2]/state/counters"
        gate.put_nowait(response(("in-octets", 1)))
        gate.put_nowait(response(("in-octets", 1), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 2)
        gate.put_nowait(deleted)
        gate.put_nowait(response(("in-octets", 2), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 3)
        gate.put_nowait(response(("in-octets", 3), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 4)
        assert octets not in emitted.batches[-1].table.keys
        gate.put_nowait(response(("in-octets", 9)))
        await emitted.until(lambda: emitted.values()[octets][-1] == 9.0)


@pytest.mark.parametrize("client_certificate", [False, True])
async def test_tls_is_verified_by_name(certificates: Certificates, client_certificate: bool) -> None:
    own: dict[str, Path] = {}
    if client_certificate:
        own = {"cert_file": certificates.certificate("client"), "key_file": certificates.key("client")}
    tls = TlsConfig(ca_file=certificates.authority, server_name="switch.example", **own)
    server = serving(steady, certificates, client_certificate=client_certificate)
    async with server as address, collecting(job(address, tls=tls)) as (emitted, _):
        await emitted.until(lambda: any(map(len, emitted.batches)))
        assert emitted.downs == []


@pytest.mark.parametrize(
    "tls",
    [TlsConfig(), TlsConfig(server_name="another.example")],
    ids=["unknown authority", "another name"],
)
async def test_a_server_that_cannot_prove_its_name_is_not_talked_to(certificates: Certificates, tls: TlsConfig) -> None:
    tls = tls.model_copy(update={"ca_file": certificates.authority if tls.server_name else None})
    async with serving(steady, certificates) as address, collecting(job(address, tls=tls)) as (emitted, _):
        await emitted.until(lambda: Down.TLS in emitted.downs)
        assert not any(map(len, emitted.batches))


async def test_skip_verify_takes_any_certificate(certificates: Certificates) -> None:
    config_tls = TlsConfig(skip_verify=True)
    async with serving(steady, certificates) as address, collecting(job(address, tls=config_tls)) as (emitted, _):
        await emitted.until(lambda: any(map(len, emitted.batches)))


async def test_credentials_go_as_metadata(certificates: Certificates, tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    async def guarded(requests: Requests, context: Any) -> Responses:
        seen.update({key: value for key, value in context.invocation_metadata() if key in ("username", "password")})
        if seen.get("password") != "right":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        async for message in steady(requests, context):
            yield message

    (tmp_path / "user").write_text("fabricscope\n")
    (tmp_path / "password").write_text("wrong\n")
    changes = {
        "tls": TlsConfig(ca_file=certificates.authority, server_name="switch.example"),
        "username_file": tmp_path / "user",
        "password_file": tmp_path / "password",
    }
    async with serving(guarded, certificates) as address, collecting(job(address, **changes)) as (emitted, _):
        await emitted.until(lambda: Down.AUTH in emitted.downs)
        (tmp_path / "password").write_text("right\n")  # rotated: no restart
        await emitted.until(lambda: any(map(len, emitted.batches)))
        assert seen == {"username": "fabricscope", "password": "right"}


async def test_openconfigs_own_fake_device_is_read(fake_device: DeviceStarter, certificates: Certificates) -> None:
    now_ns = time.time_ns()
    neighbour = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=1]/state"
    lldp = response(prefix=neighbour, at_ns=now_ns)
    for leaf, text in (("system-name", "spine1.example"), ("port-id", "Ethernet9")):
        lldp.update.update.add(path=parse_path(leaf)).val.string_val = text
    state = response(prefix="/interfaces/interface[name=Ethernet1]/state", at_ns=now_ns)
    body = b'{"openconfig-interfaces:oper-status": "UP", "counters": {"in-errors": "5"}}'
    state.update.update.add(path=parse_path("/")).val.json_ietf_val = body
    device = fake_device([response(("in-octets", 42), ("out-octets", 43), at_ns=now_ns), state, lldp])
    tls = TlsConfig(ca_file=certificates.authority, server_name="switch.example")
    slow = SubscriptionConfig(paths=(PathConfig(path="/", interval_s=60),))
    async with collecting(job(device.address, tls=tls, subscriptions=(slow,))) as (emitted, _):
        await emitted.until(lambda: len(emitted.values()) == 4 and emitted.facts)
    port = '{device="leaf1",port="Ethernet1"}'
    assert emitted.values() == {
        f"fabric_port_receive_bytes_total{port}": [42.0],
        f"fabric_port_transmit_bytes_total{port}": [43.0],
        f"fabric_port_up{port}": [1.0],
        'fabric_port_errors_total{device="leaf1",direction="rx",port="Ethernet1"}': [5.0],
    }
    assert emitted.facts[0].entity == Link("leaf1", "Ethernet1", "spine1", "Ethernet9")


async def test_openconfigs_fake_device_streams_values_in_old_paths(
    fake_device: DeviceStarter, certificates: Certificates
) -> None:
    now_ns = time.time_ns()
    path = ["interfaces", "interface[name=Ethernet1]", "state", "counters", "in-octets"]
    steps = " ".join(f'path: "{step}"' for step in path)
    value = (
        f"values {{ {steps} timestamp {{ timestamp: {now_ns} delta_min: 50000000 delta_max: 50000000 }} repeat: 20 "
        "uint_value { value: 10 range { minimum: 0 maximum: 1000 delta_min: 10 delta_max: 10 } } }\n"
    )
    device = fake_device(config=f"enable_delay: true\n{value}", client_certificate=True)
    tls = TlsConfig(
        ca_file=certificates.authority,
        server_name="switch.example",
        cert_file=certificates.certificate("client"),
        key_file=certificates.key("client"),
    )
    async with collecting(job(device.address, tls=tls)) as (emitted, _):
        key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
        await emitted.until(lambda: len(emitted.values().get(key, [])) >= 5)
        values = emitted.values()[key]
        assert values == sorted(values)


def sonic_answers(database: str) -> Sequence[tuple[str, bytes]]:
    if database == "APPL_DB":
        ports = b'{"Ethernet0": {"alias": "etp1", "oper_status": "up", "speed": "400000"}}'
        neighbours = b'{"Ethernet0": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "Ethernet8"}}'
        return (("PORT_TABLE", ports), ("LLDP_ENTRY_TABLE", neighbours))
    if database == "COUNTERS_DB":
        return (("COUNTERS/Ethernet*", b'{"etp1": {"SAI_PORT_STAT_PFC_3_RX_PKTS": "17"}}'),)
    return ()


async def test_sonic_default_set_resolves_aliases_from_the_first_subscription() -> None:
    asked: list[str] = []

    async def sonic(requests: Requests, context: Any) -> Responses:
        request = await anext(requests)
        database = request.subscribe.prefix.target
        asked.append(database)
        while True:
            for path, body in sonic_answers(database):
                made = gnmi_pb2.SubscribeResponse()
                made.update.timestamp = time.time_ns()
                made.update.prefix.target = database
                made.update.update.add(path=parse_path(path)).val.json_ietf_val = body
                yield made
            yield SYNC
            await asyncio.sleep(0.1)

    config = job("x:1", source=Source.SONIC, subscriptions=())
    async with serving(sonic) as address:
        target = TargetConfig(address=address, device="leaf1")
        async with collecting(config.model_copy(update={"targets": (target,)})) as (emitted, _):
            key = 'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="Ethernet0",priority="3"}'
            await emitted.until(lambda: key in emitted.values() and emitted.facts)
            assert emitted.values()[key][0] == 17.0
            assert emitted.facts[0].entity.key == "link/leaf1/Ethernet0--spine1/Ethernet8"
            rated = Link("leaf1", "Ethernet0", "spine1", "Ethernet8", 4e11)
            await emitted.until(lambda: any(fact.entity == rated for fact in emitted.facts))
            await emitted.until(lambda: set(asked) == {"APPL_DB", "COUNTERS_DB", "STATE_DB"})
            assert asked[0] == "APPL_DB"
