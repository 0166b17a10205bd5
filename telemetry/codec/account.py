"""A target's account in a header of its records: counts in decimal, then ``reason=count`` for each reason."""

import re
from collections.abc import Mapping

from common.errors import BadInput
from telemetry.ledger import TargetAccount

ACCOUNT_HEADER = "account"
_BYTES_MAX = 2048
_COUNTS = re.compile(rb"(\d{1,19}) (\d{1,18}) (\d{1,18}) (-?\d{1,18})((?: [a-z_]{1,40}=\d{1,18})*)")


def encode_account(account: TargetAccount) -> bytes:
    """
    >>> encode_account(TargetAccount(5, 10, 7, 1, {"quota": 2}))
    b'5 10 7 1 quota=2'
    """
    drops = "".join(f" {reason}={count}" for reason, count in account.dropped.items())
    return f"{account.since_ns} {account.received} {account.delivered} {account.held}{drops}".encode()


def account_of(headers: Mapping[str, bytes]) -> TargetAccount | None:
    """None where a record has none, as those of releases before. BadInput (reason ``schema``) for anything else."""
    text = headers.get(ACCOUNT_HEADER)
    if text is None:
        return None
    matched = _COUNTS.fullmatch(text) if len(text) <= _BYTES_MAX else None
    if matched is None:
        raise BadInput(f"header {ACCOUNT_HEADER} of {len(text)} bytes: expected counts", "schema")
    since_ns, received, delivered, held = map(int, matched.groups()[:4])
    drops = (pair.split(b"=") for pair in matched[5].split())
    return TargetAccount(since_ns, received, delivered, held, {reason.decode(): int(count) for reason, count in drops})
