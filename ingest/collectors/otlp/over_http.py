"""OTLP/HTTP: POST of protobuf or JSON to ``/v1/metrics``.

What is answered: https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
"""

import asyncio
import json
import math
from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web
from google.protobuf import json_format

from ingest.collectors.http_receiver import HttpRefused, HttpServer
from ingest.collectors.otlp.answer import answer
from ingest.collectors.otlp.config import Config
from ingest.collectors.otlp.decode.decoder import Decoded
from ingest.collectors.otlp.decode.json_body import Encoding
from ingest.collectors.otlp.exporting import Exporting
from ingest.transport.grpc_messages import CallEnded
from ingest.transport.grpc_status import Refused, Status, status_message
from ingest.transport.peer import certificate_name, plain_address
from ingest.transport.refusals import RefusalReason
from ingest.transport.unpacking import WINDOW_BITS, unpacked
from telemetry.samples import DownReason

PATH = "/v1/metrics"
_STATUSES = {
    Status.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Status.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Status.RESOURCE_EXHAUSTED: HTTPStatus.TOO_MANY_REQUESTS,
    Status.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Status.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}
_ENCODINGS = {encoding.value: encoding for encoding in Encoding}
_PACKINGS = ", ".join(sorted(WINDOW_BITS))


class OverHttp:
    """server: listens once it is started."""

    def __init__(self, config: Config, exporting: Exporting) -> None:
        self._exporting, self._bytes_max = exporting, config.limits.message_bytes_max
        self.server = HttpServer(
            config.job_name,
            config.listen,
            config.tls,
            self._answer,
            connections_max=config.limits.senders_max,
            body_bytes_max=self._bytes_max,
        )

    async def _answer(self, request: web.Request) -> web.Response:
        encoding = _ENCODINGS.get(request.content_type)
        try:
            decoded = await self._export(request, encoding)
        except HttpRefused as refused:
            return _failure(refused.status, refused.message, encoding, refused.headers)
        except Refused as refused:
            headers = {} if refused.after_s is None else {"Retry-After": str(math.ceil(refused.after_s))}
            return _failure(_STATUSES[refused.status], refused.message, encoding, headers)
        response = answer(decoded)
        if encoding is Encoding.PROTOBUF:
            return _response(HTTPStatus.OK, response.SerializeToString(), encoding)
        return _response(HTTPStatus.OK, json_format.MessageToJson(response, indent=None).encode(), Encoding.JSON)

    async def _export(self, request: web.Request, encoding: Encoding | None) -> Decoded:
        sender = self._sender_of(request)
        if request.path != PATH:
            message = f"nothing at this path: metrics alone are taken, at {PATH}"
            raise self.server.refuse(HTTPStatus.NOT_FOUND, message, RefusalReason.UNKNOWN_METHOD)
        if request.method != "POST":
            allow = {"Allow": "POST"}
            raise self.server.refuse(
                HTTPStatus.METHOD_NOT_ALLOWED, "expected POST", RefusalReason.UNKNOWN_METHOD, allow
            )
        if encoding is None:
            message = f"Content-Type {request.content_type[:80]!r}: expected one of {', '.join(_ENCODINGS)}"
            raise self.server.refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message, RefusalReason.ENCODING)
        return await self._exporting.export(await self._body(request), encoding, sender)

    def _sender_of(self, request: web.Request) -> str:
        transport = request.transport
        if transport is None:  # and nothing says who it was
            raise ConnectionResetError
        return self._exporting.sender(plain_address(request.remote or ""), certificate_name(transport))

    async def _body(self, request: web.Request) -> bytes:
        packing = request.headers.get("Content-Encoding", "identity").strip().lower()
        if packing != "identity" and packing not in WINDOW_BITS:
            message = f"Content-Encoding {packing[:40]!r}: expected one of {_PACKINGS}"
            accepted = {"Accept-Encoding": _PACKINGS}
            raise self.server.refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message, RefusalReason.ENCODING, accepted)
        body = await self.server.read(request)
        if packing == "identity":
            return body
        try:
            # off the event loop: the largest body takes milliseconds
            return await asyncio.to_thread(unpacked, body, WINDOW_BITS[packing], self._bytes_max)
        except CallEnded as ended:
            if ended.reason is DownReason.TOO_LARGE:
                status, reason = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, RefusalReason.TOO_LARGE
            else:
                status, reason = HTTPStatus.BAD_REQUEST, RefusalReason.ENCODING
            raise self.server.refuse(status, ended.message, reason) from ended


def _failure(status: HTTPStatus, message: str, encoding: Encoding | None, headers: Mapping[str, str]) -> web.Response:
    """Its body is a google.rpc.Status, in JSON for who did not send protobuf."""
    if encoding is Encoding.PROTOBUF:
        return _response(status, status_message(message), encoding, headers)
    return _response(status, json.dumps({"message": message}).encode(), Encoding.JSON, headers)


def _response(
    status: HTTPStatus, body: bytes, encoding: Encoding, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(status=status, body=body, content_type=encoding.value, headers=headers)
