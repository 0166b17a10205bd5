"""Who may push to the OTLP receiver, and as which device."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import grpc.aio
import pytest

from common.errors import ConfigError
from ingest.collectors.base import CollectorContext
from ingest.collectors.otlp.collector import OtlpReceiver
from ingest.collectors.otlp.config import Config
from ingest.ledger import Ledger
from tests.conformance.collectors.gnmi_peer import Emitted
from tests.conformance.collectors.otlp_receiving import UP, now, receiving, state
from tests.servers.certificates import Certificates
from tests.unit.ingest.otlp.requests import RULE


def channel_with(certificates: Certificates, address: str, client: str | None) -> grpc.aio.Channel:
    authority = certificates.authority.read_bytes()
    own = (certificates.key(client).read_bytes(), certificates.certificate(client).read_bytes()) if client else ()
    credentials = grpc.ssl_channel_credentials(authority, *own)
    return grpc.aio.secure_channel(address, credentials, [("grpc.ssl_target_name_override", "switch.example")])


def tls(certificates: Certificates, **more: Any) -> dict[str, Any]:
    return {"cert_file": certificates.certificate("server"), "key_file": certificates.key("server"), **more}


async def test_a_device_is_known_by_its_certificate(certificates: Certificates) -> None:
    rule = RULE.model_copy(update={"device_from": ("sender",)})
    settings = {"tls": tls(certificates, client_ca_file=certificates.authority), "allow": (), "rules": (rule,)}
    async with receiving(**settings) as here:
        async with channel_with(certificates, here.address, "client") as channel:
            await here.call(channel, now(state(), device="leaf9"))
        assert here.values == {'fabric_port_up{device="client",port="swp1"}': [1.0]}
        for refused in (None, "expired"):
            async with channel_with(certificates, here.address, refused) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as failure:
                    await here.call(channel, now(state()))
                assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
        assert here.ledger.samples_in == 1


async def test_the_name_of_a_sender_may_be_configured(certificates: Certificates) -> None:
    rule = RULE.model_copy(update={"device_from": ("sender",)})
    settings = {"tls": tls(certificates, client_ca_file=certificates.authority), "rules": (rule,)}
    async with receiving(**settings, senders={"client": "leaf1"}) as here:
        async with channel_with(certificates, here.address, "client") as channel:
            await here.call(channel, now(state()))
        assert here.values == {UP: [1.0]}
    async with receiving(rules=(rule,), senders={"127.0.0.1": "leaf1"}) as here:
        await here.export(now(state()))
        assert here.values == {UP: [1.0]}


async def test_an_address_that_is_not_allowed_is_refused() -> None:
    async with receiving(allow=("10.0.0.0/8",)) as here:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await here.export(now(state()))
        assert failure.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert here.ledger.samples_in == 0


async def test_an_address_in_use_and_an_absent_certificate_are_errors() -> None:
    async with receiving() as here:
        config = Config(listen=here.address, allow=("127.0.0.1",), rules=(RULE,))
        with ThreadPoolExecutor(1) as workers, pytest.raises(ConfigError, match="otlp: listen 127"):
            await OtlpReceiver(config, CollectorContext(Ledger(0), time.time_ns, workers)).run(here.emitted)
    absent = {"cert_file": "absent.pem", "key_file": "absent.key"}
    config = Config.model_validate({"listen": "127.0.0.1:0", "allow": ["127.0.0.1"], "rules": [RULE], "tls": absent})
    with ThreadPoolExecutor(1) as workers, pytest.raises(ConfigError, match=r"absent\.pem: No such file"):
        await OtlpReceiver(config, CollectorContext(Ledger(0), time.time_ns, workers)).run(Emitted())
