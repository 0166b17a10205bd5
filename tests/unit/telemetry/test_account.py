"""A target's account in the header of its records, and what a header may hold that is none."""

import pytest

from common.errors import BadInput
from telemetry.codec.account import ACCOUNT_HEADER, account_of, encode_account
from telemetry.ledger import TargetAccount


@pytest.mark.parametrize(
    "account",
    [TargetAccount(0), TargetAccount(1_780_000_000_000_000_000, 10**15, 7, -3, {"no_value": 1, "quota": 10**12})],
)
def test_it_comes_back_as_it_was(account: TargetAccount) -> None:
    assert account_of({"table": b"digest", ACCOUNT_HEADER: encode_account(account)}) == account


def test_records_of_releases_before_have_none() -> None:
    assert account_of({"table": b"digest"}) is None


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"1 2 3", b"1 2 3 x", b"-1 2 3 4", b"1 2 3 4 quota", b"1 2 3 4 quota=-1", b"1 2 3 4 Q=1"),
        *(b"1 2 3 4 \xff=1", b"9" * 30 + b" 1 1 1", b"1 2 3 4" + 600 * b" a=1", "1 2 3 ٣".encode()),
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(BadInput, match="expected counts"):
        account_of({ACCOUNT_HEADER: text})
