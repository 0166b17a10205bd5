"""Requests to one agent, by pysnmp: SNMPv2c and SNMPv3. What it sends comes back as plain numbers, texts and errors."""

from collections.abc import Iterable, Sequence
from typing import Any

from pyasn1.type import univ
from pysnmp.carrier.asyncio.dgram import udp, udp6
from pysnmp.error import PySnmpError
from pysnmp.hlapi.v3arch import asyncio as hlapi
from pysnmp.proto import errind, rfc1902

from ingest.collectors.snmp.config import AuthProtocol, PrivProtocol, UserConfig
from ingest.collectors.snmp.objects import Oid
from ingest.collectors.snmp.walk import Counter32, Value, Varbind, dotted
from telemetry.samples import DownReason

_TOO_BIG = 1  # error-status, RFC 3416
_NO_ACCESS = frozenset((6, 16))  # noAccess, authorizationError
_AUTH = (
    errind.AuthenticationError,
    errind.AuthenticationFailure,
    errind.WrongDigest,
    errind.UnknownUserName,
    errind.UnknownSecurityName,
    errind.UnsupportedSecurityLevel,
    errind.DecryptionError,
    errind.EncryptionError,
    errind.NotInTimeWindow,
    errind.UnknownCommunityName,
    errind.UnknownEngineID,
)
_AUTH_PROTOCOLS = {
    AuthProtocol.MD5: hlapi.USM_AUTH_HMAC96_MD5,
    AuthProtocol.SHA: hlapi.USM_AUTH_HMAC96_SHA,
    AuthProtocol.SHA224: hlapi.USM_AUTH_HMAC128_SHA224,
    AuthProtocol.SHA256: hlapi.USM_AUTH_HMAC192_SHA256,
    AuthProtocol.SHA384: hlapi.USM_AUTH_HMAC256_SHA384,
    AuthProtocol.SHA512: hlapi.USM_AUTH_HMAC384_SHA512,
}
_PRIV_PROTOCOLS = {
    PrivProtocol.DES: hlapi.USM_PRIV_CBC56_DES,
    PrivProtocol.AES: hlapi.USM_PRIV_CFB128_AES,
    PrivProtocol.AES192: hlapi.USM_PRIV_CFB192_AES_BLUMENTHAL,
    PrivProtocol.AES192C: hlapi.USM_PRIV_CFB192_AES,
    PrivProtocol.AES256: hlapi.USM_PRIV_CFB256_AES_BLUMENTHAL,
    PrivProtocol.AES256C: hlapi.USM_PRIV_CFB256_AES,
}
Credentials = Any
"""``CommunityData`` or ``UsmUserData`` of pysnmp, which has no types."""


class NoResponse(Exception):
    """The agent did not answer a request, or refused it."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooBig(Exception):
    """The response would not fit into one message of the agent."""


def by_community(community: str) -> Credentials:
    """SNMPv2c."""
    return hlapi.CommunityData(community, mpModel=1)


def by_user(user: UserConfig, auth_password: str, priv_password: str | None) -> Credentials:
    """SNMPv3."""
    private = priv_password is not None
    return hlapi.UsmUserData(
        user.username,
        auth_password,
        priv_password,
        authProtocol=_AUTH_PROTOCOLS[user.auth_protocol],
        privProtocol=_PRIV_PROTOCOLS[user.priv_protocol] if private else hlapi.USM_PRIV_NONE,
    )


class Session:
    """One agent, one request at a time. Inert until ``open``; ``close`` is idempotent.

    A datagram from another address than the agent's is no answer: whoever guesses a request's number could lie.
    """

    def __init__(self, credentials: Credentials, *, context_name: str, timeout_s: float, retries: int) -> None:
        self._credentials, self._context = credentials, hlapi.ContextData(contextName=context_name)
        self._timeout_s, self._retries = timeout_s, retries
        self._engine: Any = None
        self._target: Any = None

    async def open(self, host: str, port: int) -> None:
        """NoResponse (``dns``) for a name that has no address."""
        kind = _Target6 if ":" in host else _Target
        try:
            self._target = await kind.create((host, port), timeout=self._timeout_s, retries=self._retries)
        except (PySnmpError, OSError) as error:
            raise NoResponse(DownReason.DNS, str(error)[:200]) from None
        self._engine = hlapi.SnmpEngine()

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close_dispatcher()

    async def get(self, oids: Sequence[Oid]) -> list[Varbind]:
        """NoResponse, TooBig or BadInput."""
        return self._varbinds(await hlapi.get_cmd(*self._call(), *_objects(oids), lookupMib=False))

    async def bulk(self, oids: Sequence[Oid], repetitions: int) -> list[Varbind]:
        """What follows each OID, ``repetitions`` times. NoResponse, TooBig or BadInput."""
        return self._varbinds(await hlapi.bulk_cmd(*self._call(), 0, repetitions, *_objects(oids), lookupMib=False))

    def _call(self) -> tuple[Any, ...]:
        return self._engine, self._credentials, self._target, self._context

    def _varbinds(self, response: Any) -> list[Varbind]:
        indication, status, _, varbinds = response
        if indication is not None:
            if isinstance(indication, errind.RequestTimedOut):
                raise NoResponse(DownReason.TIMEOUT, f"no answer to a request, sent {self._retries + 1} times")
            raise NoResponse(
                DownReason.AUTH if isinstance(indication, _AUTH) else DownReason.BAD_FORMAT, str(indication)
            )
        if status == _TOO_BIG:
            raise TooBig
        if status:
            reason = DownReason.AUTH if int(status) in _NO_ACCESS else DownReason.BAD_FORMAT
            raise NoResponse(reason, f"the agent answers {status.prettyPrint()}")
        return [(tuple(oid), _plain(value)) for oid, value in varbinds]


class _OnePeer:
    """Of a transport: hears the agent alone."""

    peer: tuple[str, int]

    def datagram_received(self, datagram: bytes, address: Any) -> None:
        if tuple(address[:2]) == self.peer:
            super().datagram_received(datagram, address)  # type: ignore[misc]


class _Udp(_OnePeer, udp.UdpAsyncioTransport):  # type: ignore[misc]
    pass


class _Udp6(_OnePeer, udp6.Udp6AsyncioTransport):  # type: ignore[misc]
    pass


class _ToOnePeer:
    """Of a target: opens a transport that hears the agent alone."""

    def open_client_mode(self) -> Any:
        transport = super().open_client_mode()  # type: ignore[misc]
        transport.peer = tuple(self.transport_address[:2])  # type: ignore[attr-defined]
        return transport


class _Target(_ToOnePeer, hlapi.UdpTransportTarget):  # type: ignore[misc]
    PROTO_TRANSPORT = _Udp


class _Target6(_ToOnePeer, hlapi.Udp6TransportTarget):  # type: ignore[misc]
    PROTO_TRANSPORT = _Udp6


def _objects(oids: Iterable[Oid]) -> list[Any]:
    return [hlapi.ObjectType(hlapi.ObjectIdentity(dotted(oid))) for oid in oids]


def _plain(value: Any) -> Value:
    if isinstance(value, rfc1902.Counter32):
        return Counter32(int(value))
    if isinstance(value, univ.Integer):
        return int(value)
    if isinstance(value, univ.OctetString):
        return bytes(value)
    if isinstance(value, univ.ObjectIdentifier):
        return str(value).encode()
    return None  # noSuchObject, noSuchInstance, endOfMibView
