"""Tokens: who holds one, for what, and until when."""

import hashlib

import pytest
from pydantic import ValidationError

from fabricscope.api.access.tokens import NEVER_NS, Scope, Token, holder, issue

NS = 1_000_000_000


def issued(*scopes: Scope, name: str = "ci", lasts_ns: int = 100 * NS) -> tuple[Token, str]:
    return issue(name, scopes or (Scope.READ,), now_ns=0, lasts_ns=lasts_ns)


def test_a_secret_has_256_bits_and_is_not_kept():
    token, secret = issued()
    assert secret.startswith("fabricscope_")
    assert len(secret.removeprefix("fabricscope_")) == 43  # 32 bytes in base64
    assert token.sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert secret.removeprefix("fabricscope_") not in token.model_dump_json()


def test_no_two_tokens_are_the_same():
    assert len({issued()[1] for _ in range(100)}) == 100


@pytest.mark.parametrize(("now_ns", "is_held"), [(0, True), (100 * NS - 1, True), (100 * NS, False)])
def test_a_token_is_held_until_it_expires(now_ns, is_held):
    token, secret = issued()
    assert holder([issued()[0], token, issued()[0]], secret, now_ns) == (token if is_held else None)


@pytest.mark.parametrize("wrong", ["", "x", "fabricscope_", "é", "\udc80", "f" * 100_000])
def test_another_secret_holds_nothing(wrong):
    token, secret = issued()
    assert [holder([token], given, 0) for given in (wrong, secret + "x", secret[:-1], secret.upper())] == [None] * 4


@pytest.mark.parametrize(
    ("given", "asked", "allowed"),
    [
        ((Scope.READ,), Scope.READ, True),
        ((Scope.READ,), Scope.ACK, False),
        ((Scope.ACK,), Scope.READ, False),
        ((Scope.READ, Scope.ACK), Scope.ACK, True),
        ((Scope.ADMIN,), Scope.REPLAY, True),
        ((Scope.ACK, Scope.REPLAY), Scope.ADMIN, False),
    ],
)
def test_scopes_allow_what_they_name_and_admin_everything(given, asked, allowed):
    assert issued(*given)[0].allows(asked) is allowed


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "../x", "x" * 65, "-x"])
def test_a_name_can_be_written_in_a_log(name):
    with pytest.raises(ValidationError):
        issued(name=name)


def test_for_ever_is_longer_than_any_clock():
    assert Token(id="a", name="a", scopes=(Scope.READ,), sha256="0" * 64, created_ns=0, expires_ns=NEVER_NS).is_active(
        2**62
    )
