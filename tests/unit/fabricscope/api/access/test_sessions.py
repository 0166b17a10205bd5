"""Sessions of browsers, and the file that keeps them over a restart."""

import stat
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fabricscope.api.access.sessions import SESSIONS_MAX, Sessions
from fabricscope.api.access.tokens import Scope, Token, issue

NS = 1_000_000_000
NOW_NS = 1_700_000_000 * NS
LASTS_S = 100.0


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


def token(lasts_s: int = 1000) -> Token:
    return issue("ops", [Scope.READ], now_ns=NOW_NS, lasts_ns=lasts_s * NS)[0]


def test_a_session_stands_for_its_token_until_it_ends(sessions):
    of = token()
    identity, session = sessions.open(of, LASTS_S, NOW_NS)
    assert (session.token, session.expires_ns) == (of.sha256, NOW_NS + 100 * NS)
    assert sessions.find(identity, session.expires_ns - 1) == session
    assert sessions.find(identity, session.expires_ns) is None
    sessions.close(identity)
    assert sessions.find(identity, NOW_NS) is None
    assert sessions.find("", NOW_NS) is None


def test_it_never_lasts_longer_than_its_token(sessions):
    of = token(lasts_s=5)
    assert sessions.open(of, LASTS_S, NOW_NS)[1].expires_ns == of.expires_ns


def test_a_restart_keeps_it_and_its_id_is_nowhere(sessions, tmp_path):
    identity, session = sessions.open(token(), LASTS_S, NOW_NS)
    ended, _ = sessions.open(token(), LASTS_S, NOW_NS)
    sessions.close(ended)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert identity not in file.read_text()
    later = Sessions(tmp_path)
    later.load()
    assert later.find(identity, NOW_NS) == session
    assert later.find(ended, NOW_NS) is None


def test_of_too_many_the_oldest_of_the_token_with_most_goes(sessions):
    person, robot = token(), token()
    own, _ = sessions.open(person, LASTS_S, NOW_NS)
    many = [sessions.open(robot, LASTS_S, NOW_NS)[0] for _ in range(SESSIONS_MAX)]
    assert sessions.find(own, NOW_NS) is not None
    assert [sessions.find(many[n], NOW_NS) is not None for n in (0, 1, -1)] == [False, True, True]
    sessions.open(person, LASTS_S, NOW_NS)
    assert sessions.find(many[1], NOW_NS) is None


def test_those_that_are_over_make_room_first(sessions, monkeypatch):
    monkeypatch.setattr("fabricscope.api.access.sessions.SESSIONS_MAX", 2)
    sessions.open(token(), LASTS_S, NOW_NS)
    kept, _ = sessions.open(token(), 2 * LASTS_S, NOW_NS)
    sessions.open(token(), LASTS_S, NOW_NS + 100 * NS)
    assert sessions.find(kept, NOW_NS + 100 * NS) is not None


@pytest.mark.parametrize("content", ["", "{", '{"version": 2, "sessions": []}', '{"version": 1, "version": 1}'])
def test_a_file_that_cannot_be_read_logs_everybody_out_and_is_replaced(sessions, tmp_path, content):
    identity, _ = sessions.open(token(), LASTS_S, NOW_NS)
    (tmp_path / "sessions.json").write_text(content)
    later = Sessions(tmp_path)
    with capture_logs() as logged:
        later.load()
    assert [line["event"] for line in logged] == ["sessions cannot be read: people log in again"]
    assert later.find(identity, NOW_NS) is None
    again, session = later.open(token(), LASTS_S, NOW_NS)
    latest = Sessions(tmp_path)
    latest.load()
    assert latest.find(again, NOW_NS) == session


def test_people_log_in_while_the_file_cannot_be_written(tmp_path):
    sessions = Sessions(tmp_path / "missing")
    with capture_logs() as logged:
        identity, session = sessions.open(token(), LASTS_S, NOW_NS)
    assert sessions.find(identity, NOW_NS) == session
    assert [line["event"] for line in logged] == ["sessions not written: a restart ends them"]
