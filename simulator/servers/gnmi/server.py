"""The gNMI server of one switch."""

import asyncio
import hmac
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass

import grpc

from common.units import NS_PER_S
from simulator.collection.clocks import Clock
from simulator.servers.collection.samples import SampleLosses, SampleOutcome
from simulator.servers.gnmi.query import Query, Tree
from simulator.servers.gnmi.stream import StreamPlan
from simulator.servers.snapshot import Current, Latest
from telemetry.gnmi import gnmi_pb2

_GNMI_VERSION = "0.10.0"
_SYNC = gnmi_pb2.SubscribeResponse(sync_response=True).SerializeToString()
_SUBSCRIPTIONS_MAX = 256
_MESSAGE_MAX_BYTES = 64 * 2**20
_STOP_S = 1.0
_SILENCE_CHECK_S = 0.1

Context = grpc.aio.ServicerContext[gnmi_pb2.SubscribeRequest, bytes]


@dataclass(frozen=True, slots=True)
class Credentials:
    """key, chain: PEM of the server's TLS identity, None for plain text.

    username, password: what a client must send as gRPC metadata; "" admits everybody.
    """

    key: bytes | None = None
    chain: bytes | None = None
    username: str = ""
    password: str = ""

    def admits(self, metadata: Iterable[tuple[str, str | bytes]]) -> bool:
        """Whether the metadata carries the username and password; compares in constant time."""
        if not self.username:
            return True
        sent = {name: value.encode() if isinstance(value, str) else value for name, value in metadata}
        return hmac.compare_digest(sent.get("username", b""), self.username.encode()) and hmac.compare_digest(
            sent.get("password", b""), self.password.encode()
        )


@dataclass(frozen=True, slots=True)
class View:
    """What a server reads. current: the snapshot that its values come from, an old one while its exporter is frozen.

    latest: the newest snapshot, which gives the time. clock: that of the switch, None: it is right.
    """

    current: Current
    latest: Latest
    clock: Clock | None = None

    def now_ns(self) -> int:
        now_ns = self.latest().now_ns
        return now_ns if self.clock is None else self.clock.read(now_ns)


class GnmiServer:
    """Serves one switch on one address. While ``silent``, streams stay open and send nothing, as a hung agent's do.

    losses: of samples; None: none is lost.
    """

    def __init__(
        self, address: str, tree: Tree, view: View, credentials: Credentials, losses: SampleLosses | None = None
    ) -> None:
        self.address = address
        self.silent = False
        self._tree = tree
        self._view = view
        self._credentials = credentials
        self._losses = losses
        self._server: grpc.aio.Server | None = None

    @property
    def listening(self) -> bool:
        return self._server is not None

    async def open(self) -> None:
        """Listens; OSError when the address is taken."""
        if self._server is not None:
            return
        # Without this a second simulator would share the port and each would get every other stream.
        server = grpc.aio.server(
            options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", _MESSAGE_MAX_BYTES)]
        )
        server.add_generic_rpc_handlers((self._handlers(),))
        try:
            if self._credentials.key is None or self._credentials.chain is None:
                server.add_insecure_port(self.address)
            else:
                pair = (self._credentials.key, self._credentials.chain)
                server.add_secure_port(self.address, grpc.ssl_server_credentials([pair]))
        except RuntimeError as error:
            raise OSError(f"simulator: cannot listen on {self.address}") from error
        await server.start()
        self._server = server

    async def close(self) -> None:
        """Ends every stream at once; clients see UNAVAILABLE."""
        server, self._server = self._server, None
        if server is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_S):
                    await server.stop(None)

    def _handlers(self) -> grpc.GenericRpcHandler:
        """Subscribe has no serializer: queries return encoded messages."""
        return grpc.method_handlers_generic_handler(
            "gnmi.gNMI",
            {
                "Capabilities": grpc.unary_unary_rpc_method_handler(
                    self._capabilities,
                    request_deserializer=gnmi_pb2.CapabilityRequest.FromString,
                    response_serializer=gnmi_pb2.CapabilityResponse.SerializeToString,
                ),
                "Get": grpc.unary_unary_rpc_method_handler(
                    self._get,
                    request_deserializer=gnmi_pb2.GetRequest.FromString,
                    response_serializer=gnmi_pb2.GetResponse.SerializeToString,
                ),
                "Set": grpc.unary_unary_rpc_method_handler(
                    self._set,
                    request_deserializer=gnmi_pb2.SetRequest.FromString,
                    response_serializer=gnmi_pb2.SetResponse.SerializeToString,
                ),
                "Subscribe": grpc.stream_stream_rpc_method_handler(
                    self._subscribe,
                    request_deserializer=gnmi_pb2.SubscribeRequest.FromString,
                    response_serializer=None,
                ),
            },
        )

    async def _admit(self, context: Context) -> None:
        while self.silent:  # noqa: ASYNC110  # rare, and ends with the call
            await asyncio.sleep(_SILENCE_CHECK_S)
        if not self._credentials.admits(context.invocation_metadata() or ()):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "wrong username or password")

    async def _capabilities(self, request: gnmi_pb2.CapabilityRequest, context: Context) -> gnmi_pb2.CapabilityResponse:
        await self._admit(context)
        return gnmi_pb2.CapabilityResponse(
            supported_models=self._tree.models,
            supported_encodings=self._tree.encodings,  # type: ignore[arg-type]  # enum values are ints
            gNMI_version=_GNMI_VERSION,
        )

    async def _set(self, request: gnmi_pb2.SetRequest, context: Context) -> gnmi_pb2.SetResponse:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this switch is read-only")

    async def _get(self, request: gnmi_pb2.GetRequest, context: Context) -> gnmi_pb2.GetResponse:
        await self._admit(context)
        await self._check_encoding(request.encoding, context)
        response = gnmi_pb2.GetResponse()
        for path in request.path:
            snapshot, now_ns = self._view.current(), self._view.now_ns()
            found = self._tree.get(request.prefix, path, request.encoding, snapshot, now_ns)
            if found is None:
                await context.abort(grpc.StatusCode.NOT_FOUND, f"nothing at {_text(request.prefix, path)}")
            response.notification.append(found)
        return response

    async def _subscribe(self, requests: AsyncIterator[gnmi_pb2.SubscribeRequest], context: Context) -> None:
        await self._admit(context)
        first = await anext(aiter(requests), None)
        if first is None or first.WhichOneof("request") != "subscribe":
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first message must be a subscription list")
        wanted = first.subscribe
        queries = await self._queries(wanted, context)
        if wanted.mode == gnmi_pb2.SubscriptionList.STREAM:
            await self._stream(wanted, queries, context)
            return
        await self._once(queries, context, wanted.updates_only)
        if wanted.mode == gnmi_pb2.SubscriptionList.POLL:
            async for request in requests:
                if request.WhichOneof("request") != "poll":
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "only polls may follow")
                await self._once(queries, context, False)

    async def _queries(self, wanted: gnmi_pb2.SubscriptionList, context: Context) -> list[Query]:
        await self._check_encoding(wanted.encoding, context)
        if not 0 < len(wanted.subscription) <= _SUBSCRIPTIONS_MAX:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"expected 1 to {_SUBSCRIPTIONS_MAX} subscriptions")
        return [self._tree.query(wanted.prefix, one.path, wanted.encoding) for one in wanted.subscription]

    async def _check_encoding(self, encoding: int, context: Context) -> None:
        if encoding not in self._tree.encodings:
            name = gnmi_pb2.Encoding.Name(encoding) if encoding in gnmi_pb2.Encoding.values() else str(encoding)
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"encoding {name} is not supported")

    async def _once(self, queries: list[Query], context: Context, updates_only: bool) -> None:
        if not updates_only:
            for query in queries:
                for message in query.full(self._view.current(), self._view.now_ns()):
                    await context.write(message)
        await context.write(_SYNC)

    async def _stream(self, wanted: gnmi_pb2.SubscriptionList, queries: list[Query], context: Context) -> None:
        while await self._outcome(context) is SampleOutcome.LOST:
            assert self._losses is not None
            await asyncio.sleep(self._losses.retry_s)
        plan, seen = StreamPlan(), self._view.latest().number
        for query, subscription in zip(queries, wanted.subscription, strict=True):
            plan.add(query, subscription, time.monotonic_ns())
        for message in plan.initial(self._view.current(), self._view.now_ns()):
            if not wanted.updates_only:
                await context.write(message)
        await context.write(_SYNC)
        while True:
            await self._wait(plan, seen)
            seen = self._view.latest().number
            if self.silent:
                await asyncio.sleep(_SILENCE_CHECK_S)
                continue
            mono_ns = time.monotonic_ns()
            if plan.samples_due(mono_ns) and await self._outcome(context) is SampleOutcome.LOST:
                plan.skip_samples(mono_ns)
            for message in plan.due(self._view.current(), self._view.now_ns(), mono_ns):
                await context.write(message)

    async def _outcome(self, context: Context) -> SampleOutcome:
        """Of the samples that are due now; ends the stream where its burst of losses says so."""
        outcome = self._losses.next() if self._losses is not None else SampleOutcome.SENT
        if outcome is SampleOutcome.CLOSED:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "telemetry agent restarts")
        return outcome

    async def _wait(self, plan: StreamPlan, seen: int) -> None:
        """Until the next sample is due or, with ON_CHANGE paths, a snapshot newer than ``seen`` is there."""
        due_ns = plan.next_due_ns()
        wait_s = None if due_ns is None else max(0.0, (due_ns - time.monotonic_ns()) / NS_PER_S)
        if not plan.has_on_change and wait_s is not None:
            await asyncio.sleep(wait_s)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._view.latest.changed(seen)


def _text(prefix: gnmi_pb2.Path, path: gnmi_pb2.Path) -> str:
    parts = [elem.name + "".join(f"[{k}={v}]" for k, v in elem.key.items()) for p in (prefix, path) for elem in p.elem]
    return f"{prefix.target or 'no target'}: /{'/'.join(parts)}"
