"""JSON that stages keep: notifications and what is tracked, silences, tokens, sessions, notes of the quarantine."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from alerts.notification import Action, Notification, decode_notification, encode_notification
from alerts.outbox_layout import tracked_of
from alerts.silence import Silence
from bus.quarantine.notes import Notes, Span, decode_notes, encode_notes
from common.errors import BadInput, ConfigError
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from tests.unit.alerts.incident_factory import T0, incident
from tests.unit.alerts.outbox_in_use import HELD

_FOLDER = Path(tempfile.mkdtemp(prefix="fabricscope-fuzz-"))
_STORE, _SESSIONS = TokenStore(_FOLDER), Sessions(_FOLDER)
_TOKEN, _ = _STORE.create("ci", (Scope.READ,), lasts_s=1000.0, now_ns=T0)
_TOKENS = _STORE._file.read_bytes()
_SESSIONS.open(_TOKEN, 1000.0, T0)
_SPAN = Span("fabricscope.findings.v1", 0, 5, 7, T0)
_PAGE = Notification(incident(), Action.FIRE, 1, T0, {"severity": "warning"}, {})


def _notification(data: bytes) -> None:
    page = decode_notification(data)
    assert encode_notification(decode_notification(encode_notification(page))) == encode_notification(page)


def _tracked(data: bytes) -> None:
    tracked_of(("", data))


def _silence(data: bytes) -> None:
    silence = Silence.model_validate_json(data)
    assert Silence.model_validate_json(silence.model_dump_json()) == silence


def _tokens(data: bytes) -> None:
    _STORE._file.write_bytes(data)
    _STORE._parse()


def _sessions(data: bytes) -> None:
    _SESSIONS._file.write_bytes(data)
    _SESSIONS.load()


def _notes(data: bytes) -> None:
    notes = decode_notes(data)
    assert decode_notes(encode_notes(notes)) == notes


_KINDS: tuple[tuple[Callable[[bytes], None], bytes], ...] = (
    (_notification, encode_notification(_PAGE)),
    (_tracked, b'{"updated_ns": 1, "incident": null, "notified": null, "taken_ns": 1}'),
    (_silence, HELD.model_dump_json().encode()),
    (_tokens, _TOKENS),
    (_notes, encode_notes(Notes(working=(_SPAN,), suspects=(_SPAN,)))),
    (_sessions, _SESSIONS._file.read_bytes()),
)
SEEDS = tuple(bytes([number]) + seed for number, (_, seed) in enumerate(_KINDS))


def target(data: bytes) -> None:
    """The first byte says which of them the others are."""
    read, _ = _KINDS[(data[0] if data else 0) % len(_KINDS)]
    try:
        read(data[1:])
    except (ValidationError, BadInput, ConfigError):
        return
