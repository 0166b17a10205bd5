"""What a receiver's answer means, from a real server that answers as its script says."""

from collections.abc import Awaitable, Callable

import pytest

from common.errors import ConfigError, Unauthorized, Unavailable
from common.tls import TlsConfig
from export.remote_write.client import RemoteWriteClient, WriteResult
from export.remote_write.config import RemoteWriteConfig
from tests.servers.webhook import RESET, Answer


@pytest.fixture
async def send(webhook_server):
    """Sends one request to a server that gives that answer."""
    clients: list[RemoteWriteClient] = []

    async def to(answer: Answer, **settings: object) -> WriteResult:
        client = RemoteWriteClient(RemoteWriteConfig(**({"url": webhook_server.url, "retry_most_s": 17} | settings)))
        await client.start()
        clients.append(client)
        webhook_server.script.append(answer)
        return await client.send(b"body")

    yield to
    for client in clients:
        await client.stop()


Send = Callable[..., Awaitable[WriteResult]]


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_2xx_is_accepted(send: Send, status):
    assert await send(Answer(status)) == WriteResult(accepted=True, explanation="")


@pytest.mark.parametrize("status", [400, 408, 409, 413, 422, 425, 451])
async def test_what_is_wrong_with_the_samples_is_rejected_in_the_receivers_words(send: Send, status):
    result = await send(Answer(status, body=b"out of order\x1b[31m\r\nsample"))
    assert result == WriteResult(accepted=False, explanation="out of order [31m  sample")


@pytest.mark.parametrize(
    ("answer", "kind", "message", "after_s"),
    [
        (Answer(500), Unavailable, "answered 500", None),
        (Answer(503, (("Retry-After", "7"),)), Unavailable, "answered 503", 7.0),
        (Answer(429, (("Retry-After", "86400"),)), Unavailable, "answered 429", 300.0),
        (Answer(415), Unavailable, "answered 415: check url and credentials", 17.0),
        (Answer(401), Unauthorized, "answered 401: check url and credentials", 17.0),
        (Answer(403), Unauthorized, "answered 403: check url and credentials", 17.0),
        (Answer(404), Unavailable, "answered 404: check url and credentials", 17.0),
        (Answer(302, (("Location", "http://127.0.0.1:1/"),)), Unavailable, "answered 302: check url and", 17.0),
        (RESET, Unavailable, "ClientOSError|ServerDisconnectedError", None),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Answer) else None,
)
async def test_everything_else_is_sent_again(send: Send, answer, kind, message, after_s):
    with pytest.raises(Unavailable, match=message) as error:
        await send(answer)
    assert error.value.after_s == after_s
    assert isinstance(error.value, Unauthorized) is (kind is Unauthorized)
    assert "canary" not in str(error.value)


async def test_a_token_is_read_for_each_request(send: Send, webhook_server, tmp_path):
    token = tmp_path / "token"
    with pytest.raises(Unavailable, match=r"secret file .*token: No such file"):
        await send(Answer(), bearer_token_file=token)
    webhook_server.script.clear()
    for secret in ("first", "second"):
        token.write_text(secret)
        await send(Answer(), bearer_token_file=token)
    sent = [request.headers["authorization"] for request in webhook_server.requests]
    assert sent == ["Bearer first", "Bearer second"]


async def test_a_header_that_cannot_be_sent_stops_nothing(send: Send):
    with pytest.raises(Unavailable, match="not usable"):
        await send(Answer(), headers={"X-Scope-OrgID": "two\nlines"})


async def test_certificates_that_cannot_be_read_stop_the_start(tmp_path):
    config = RemoteWriteConfig(url="https://a", tls=TlsConfig(ca_file=tmp_path / "none.pem"))
    with pytest.raises(ConfigError, match=r"remote_write\.tls: ca_file .*none\.pem: No such file"):
        await RemoteWriteClient(config).start()


def test_the_old_keys_of_states_are_accepted():
    old = RemoteWriteConfig.model_validate({"url": "http://a", "facts_interval_s": 2, "facts_max": 3})
    assert old == RemoteWriteConfig(url="http://a", state_interval_s=2, states_max=3)
