"""What every aiokafka client of ours needs: how to connect, how to wait, and how to close one that hangs."""

import asyncio
import logging
import ssl
from collections.abc import Coroutine
from typing import Any, TypeVar

from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from bus.config import KafkaConnection
from common.errors import ConfigError, Unauthorized, Unavailable
from common.secrets import read_secret_text
from common.tls import client_context

T = TypeVar("T")
# short enough that a broker which appears is found within 10 s
CONNECT_FIRST_S, CONNECT_MOST_S = 0.1, 5.0
_REFUSALS = (
    AuthenticationFailedError,
    IllegalSaslStateError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

# aiokafka writes an ERROR line with every refused connection; the bus reports its problems itself.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def connection_settings(config: KafkaConnection) -> dict[str, Any]:
    """Arguments of every aiokafka client. ConfigError when a file of the settings cannot be read."""
    protocols = {"plaintext": "PLAINTEXT", "tls": "SSL", "sasl_plaintext": "SASL_PLAINTEXT", "sasl_tls": "SASL_SSL"}
    settings: dict[str, Any] = {
        "bootstrap_servers": list(config.bootstrap),
        "client_id": config.client_id,
        "security_protocol": protocols[config.security],
        "request_timeout_ms": int(config.attempt_deadline_s * 1000),
        "metadata_max_age_ms": 30_000,  # how soon a topic that was changed is noticed
    }
    if config.encrypted:
        settings["ssl_context"] = _ssl_context(config)
    if config.security.startswith("sasl"):
        settings["sasl_mechanism"] = config.sasl_mechanism
        settings["sasl_plain_username"] = config.username
        settings["sasl_plain_password"] = _password(config)
    return settings


async def start_client(config: KafkaConnection, start: Coroutine[Any, Any, object]) -> None:
    """Starts an aiokafka client. Unauthorized when a broker refuses our credentials.

    Each broker of ``bootstrap`` has ``attempt_deadline_s``: one that stands still accepts the connection and says
    nothing, and the client comes to the next only when its time is up.
    """
    try:
        await within(config.attempt_deadline_s * len(config.bootstrap), start)
    except KafkaConnectionError as error:  # which is all that clients report of a refusal
        refusal = await _refusal(config) if config.security.startswith("sasl") else None
        if refusal is not None:
            raise Unauthorized(refusal) from error
        raise


async def _refusal(config: KafkaConnection) -> str | None:
    """The words of the first broker that refuses our credentials; None when none does."""
    settings = connection_settings(config)
    del settings["bootstrap_servers"], settings["metadata_max_age_ms"]
    for address in config.bootstrap:
        host, _, port = address.rpartition(":")
        connection = AIOKafkaConnection(host.strip("[]"), int(port), **settings)
        try:
            await within(config.attempt_deadline_s, connection.connect())
        except _REFUSALS as error:
            refusal = f"authentication of user {config.username!r} by {config.sasl_mechanism} failed: {error}"
            return f"{refusal}; check sasl_mechanism, username and password"
        except Exception:  # not about credentials: the client has raised it already
            continue
        finally:
            connection.close()
    return None


def _ssl_context(config: KafkaConnection) -> ssl.SSLContext:
    try:
        return client_context(config.tls)
    except ConfigError as error:
        raise ConfigError(f"{config.section}: {error}") from error


def _password(config: KafkaConnection) -> str:
    if config.password_file is None:
        return config.password.get_secret_value() if config.password else ""
    try:
        return read_secret_text(config.password_file)
    except Unavailable as error:
        raise ConfigError(f"{config.section}.password_file: {error}") from error


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result, or Unavailable after ``seconds`` whatever ``work`` does.

    It runs in a task of its own, which is left behind when it is late: parts of aiokafka swallow a cancellation and
    wait on, so a timeout around an await is no bound.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_ignore_error)
    if not task.done():
        raise Unavailable(f"the broker did not answer within {seconds:g} s")
    return task.result()


async def close_with_timeout(*closings: Coroutine[Any, Any, object], seconds: float) -> None:
    """Runs all of them for up to ``seconds``; what they raise is ignored."""
    tasks = [asyncio.ensure_future(closing) for closing in closings]
    for task in tasks:
        task.add_done_callback(_ignore_error)
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()


class BackgroundClosings:
    """Clients that are being closed while others go on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()

    def add(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_ignore_error)

    async def wait(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)


async def discard_consumer(client: Any) -> None:
    """Closes an aiokafka consumer in a bounded time."""
    await close_with_timeout(client.stop(), seconds=0.5)
    await close_with_timeout(client._client.close(), seconds=0.5)  # when stop() hung before it came to this


def _ignore_error(task: "asyncio.Future[Any]") -> None:
    """Fetches the exception of a task that nobody awaits, which asyncio would print otherwise."""
    if not task.cancelled():
        task.exception()
