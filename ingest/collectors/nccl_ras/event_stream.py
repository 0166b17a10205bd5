"""Reads what RAS streams after ``MONITOR``, which NCCL has since 2.29 (``rasClientsNotifyEvent`` in
``src/ras/client_support.cc``). Pure.

In text an event is a line. In JSON it is an object over several lines, whose braces alone are not indented.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from common.errors import BadInput
from common.units import NS_PER_S

LINE_BYTES_MAX = 4096  # RAS writes 2048 at most
_OBJECT_BYTES_MAX = 8192
_GPUS_MAX = 64  # of one process: RAS has a bit for each
_EVENT = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ([A-Z][A-Z0-9_]{0,63}):(?: (.*))?")
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_PROCESS = re.compile(
    r"Process (\d{1,9}) on node (\S{1,64}) managing GPUs? ([0-9,]{0,400})(?: \(NVML ([0-9,]{1,400})\))?(?: .*)?"
)
_ADDRESS = re.compile(r"(\S{1,64})<\d{1,5}>(?: .*)?")
_REPLIES = (b"SERVER PROTOCOL ", b"OK", b"ERROR")


class RasEvent(NamedTuple):
    """name: RAS's own. host: address of the process's host, '' where the event is about none.

    process: its number, '' where RAS knows only the address. gpus: numbers of its GPUs on the host, as nvidia-smi
    counts, with commas between. local_ns: when, since 1970, by the local time of the process that was asked: RAS states
    no zone.
    """

    name: str
    local_ns: int
    host: str = ""
    process: str = ""
    gpus: str = ""


@dataclass(slots=True)
class Heard:
    """unreadable: lines, or objects in JSON, that are no event."""

    events: list[RasEvent] = field(default_factory=list)
    unreadable: int = 0


class EventReader:
    """The stream of one connection, by the chunk."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._rest = b""
        self._skips = False  # the rest of a line that is too long
        self._object = b""  # what is there of it

    def feed(self, chunk: bytes) -> Heard:
        heard = Heard()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            skips, self._skips = self._skips, False
            if skips:
                continue
            if len(line) > LINE_BYTES_MAX:
                heard.unreadable += 1
            else:
                self._line(line.rstrip(b"\r"), heard)
        if len(self._rest) > LINE_BYTES_MAX:
            heard.unreadable += not self._skips
            self._rest, self._skips = b"", True
        return heard

    def _line(self, line: bytes, heard: Heard) -> None:
        if self._is_json and (self._object or line == b"{"):
            self._of_object(line, heard)
        elif line.startswith(_REPLIES):  # to what it is asked for a sign of life
            return
        elif self._is_json:
            heard.unreadable += 1
        else:
            _add(heard, line, parse_text_event)

    def _of_object(self, line: bytes, heard: Heard) -> None:
        if line == b"{":
            heard.unreadable += bool(self._object)  # one without its end
            self._object = b""
        self._object += line + b"\n"
        if line == b"}":
            text, self._object = self._object, b""
            _add(heard, text, parse_json_event)
        elif len(self._object) > _OBJECT_BYTES_MAX:
            self._object = b""
            heard.unreadable += 1


def _add(heard: Heard, text: bytes, parse: Any) -> None:
    try:
        heard.events.append(parse(text))
    except BadInput:
        heard.unreadable += 1


def parse_text_event(line: bytes) -> RasEvent:
    """BadInput for what is none."""
    if (found := _EVENT.fullmatch(line.decode("utf-8", "replace"))) is None:
        raise BadInput("nccl_ras: expected '[time] EVENT:'", "bad_format")
    name, about, local_ns = found[2], found[3] or "", _time(found[1])
    if process := _PROCESS.fullmatch(about):
        return RasEvent(name, local_ns, _host(process[2]), process[1], _numbers((process[4] or process[3]).split(",")))
    if address := _ADDRESS.fullmatch(about):
        return RasEvent(name, local_ns, _host(address[1]))
    return RasEvent(name, local_ns)


def parse_json_event(text: bytes) -> RasEvent:
    """BadInput for what is none."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"nccl_ras: {error}", "bad_format") from error
    name, local_ns = _text(document, "event"), _time(_text(document, "timestamp"))
    if _NAME.fullmatch(name) is None:
        raise BadInput(f"nccl_ras: event: {name[:64]!r}", "bad_format")
    peer = document.get("peer")
    if peer is None:
        return RasEvent(name, local_ns)
    if not isinstance(peer, dict):
        raise BadInput("nccl_ras: peer: expected an object", "bad_format")
    if "addr" in peer:
        return RasEvent(name, local_ns, _host(_text(peer, "addr").partition("<")[0]))
    pid, gpus = peer.get("pid"), peer.get("nvml_devs")
    if type(pid) is not int or not 0 <= pid < 10**9 or not isinstance(gpus, list):
        raise BadInput("nccl_ras: peer: expected pid and nvml_devs", "bad_format")
    return RasEvent(name, local_ns, _host(_text(peer, "host")), str(pid), _numbers(gpus))


def _text(document: Any, name: str) -> str:
    found = document.get(name) if isinstance(document, dict) else None
    if not isinstance(found, str):
        raise BadInput(f"nccl_ras: {name}: expected a text", "bad_format")
    return found


def _time(text: str) -> int:
    try:
        return round(datetime.strptime(f"{text} +0000", "%Y-%m-%d %H:%M:%S %z").timestamp()) * NS_PER_S
    except ValueError as error:
        raise BadInput(f"nccl_ras: {text[:64]!r}: expected a time", "bad_format") from error


def _host(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError as error:
        raise BadInput(f"nccl_ras: {text[:64]!r}: expected an address", "bad_format") from error
    return text


def _numbers(gpus: list[Any]) -> str:
    """Of some GPUs, ascending, as RAS writes them."""
    texts = [str(gpu) for gpu in gpus if gpu != ""]
    if len(texts) > _GPUS_MAX or not all(text.isascii() and text.isdigit() and len(text) < 4 for text in texts):
        raise BadInput("nccl_ras: expected numbers of GPUs", "bad_format")
    return ",".join(texts)
