"""Tokens of the API, created, listed and revoked in the state folder of the settings."""

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from common.units import NS_PER_S
from fabricscope.api.access.token_store import LOCAL, TokenStore
from fabricscope.api.access.tokens import NAME_PATTERN, Scope, Token
from fabricscope.commands.audited import audited_command
from fabricscope.settings import load_settings

RESERVED = (LOCAL, "bearer_token_file")
_COLUMNS = ("ID", "NAME", "SCOPES", "CREATED", "EXPIRES")


def create_token(config_file: Path | None, name: str, scopes: Sequence[str], lasts_s: float) -> str:
    """The secret of the new token."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise typer.BadParameter(f"name {name!r}: expected letters, digits, dot, dash and underscore, at most 64")
    if name in RESERVED:
        raise typer.BadParameter(f"name {name}: expected another one, this one is made by itself")
    folder = load_settings(config_file).api.state_dir
    with audited_command(folder, "token create", {"name": name, "scopes": " ".join(scopes)}):
        _, secret = TokenStore(folder).create(
            name, [Scope(scope) for scope in scopes], lasts_s=lasts_s, now_ns=time.time_ns()
        )
    return secret


def token_lines(config_file: Path | None) -> list[str]:
    """A table with one line a token; expired ones are named so."""
    tokens = TokenStore(load_settings(config_file).api.state_dir).load()
    now_ns = time.time_ns()
    rows = [_COLUMNS, *(_row(token, now_ns) for token in tokens)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def revoke_tokens(config_file: Path | None, which: str) -> list[str]:
    """A line for each that was revoked."""
    folder = load_settings(config_file).api.state_dir
    with audited_command(folder, "token revoke", {"revoked": which}):
        gone = TokenStore(folder).revoke(which)
    return [f"revoked {token.name} ({token.id})" for token in gone]


def _row(token: Token, now_ns: int) -> tuple[str, ...]:
    expires = _day(token.expires_ns) if token.is_active(now_ns) else f"{_day(token.expires_ns)} (expired)"
    return token.id, token.name, ",".join(token.scopes), _day(token.created_ns), expires


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // NS_PER_S, UTC).strftime("%Y-%m-%dT%H:%MZ")
