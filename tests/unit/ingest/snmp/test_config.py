"""What the settings of SNMP jobs accept."""

from typing import Any

import pytest
from pydantic import ValidationError

from ingest.collectors.snmp.config import Config, TargetConfig

TARGET = {"address": "pdu1", "device": "pdu1"}
USER = {"username": "reader", "auth_password_file": "a"}
V2C: dict[str, Any] = {"community_file": "c", "targets": [TARGET]}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("pdu1", ("pdu1", 161)),
        ("10.0.0.1:1161", ("10.0.0.1", 1161)),
        ("[2001:db8::1]", ("2001:db8::1", 161)),
        ("[2001:db8::1]:1161", ("2001:db8::1", 1161)),
    ],
)
def test_addresses(address: str, expected: tuple[str, int]) -> None:
    assert TargetConfig(address=address, device="d").host_and_port == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"targets": [TARGET]}, "expected community_file .* or user"),
        ({**V2C, "user": USER}, "expected community_file .* or user"),
        ({**V2C, "targets": [TARGET, TARGET]}, "two targets have the same address"),
        ({**V2C, "targets": [{**TARGET, "address": "public@pdu1"}]}, "address"),
        ({**V2C, "targets": [{**TARGET, "address": "pdu1:70000"}]}, "a port between 1 and 65535"),
        ({**V2C, "targets": [{**TARGET, "labels": {"device": "x"}}]}, "device stands beside them"),
        ({**V2C, "interval_s": 10}, "interval_s"),
        ({**V2C, "timeout_s": "2m"}, "timeout_s: expected at most interval_s"),
        ({**V2C, "community": "public"}, "community"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Config.model_validate(settings)


def test_a_collection_ends_before_the_next_one() -> None:
    assert Config.model_validate(V2C).deadline_s == 45
    assert Config.model_validate({**V2C, "timeout_s": "50s"}).deadline_s == 50
