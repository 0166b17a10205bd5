"""What the settings of a kernel log have to say."""

from typing import Any

import pytest

from ingest.collectors.kernel_log.config import Config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "kmsg names no host"),
        ({"format": "dmesg", "file": "a.log"}, "dmesg names no host"),
        ({"format": "fabric_manager", "file": "a.log"}, "fabric_manager names no host"),
        ({"format": "fabric_manager", "device": "node1"}, "expected that of the Fabric Manager"),
        ({"format": "syslog", "gpus": {"0000:9b:00.0": "GPU-1"}}, "each host has GPUs of its own"),
        ({"device": "node1", "gpus": {"gpu0": "GPU-1"}}, "expected a PCI address"),
        ({"device": "node1", "gpus": {"0000:9b:00.0": ""}}, "and a UUID"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Config.model_validate(settings)


def test_addresses_are_those_of_the_log() -> None:
    config = Config.model_validate({"device": "node1", "gpus": {"00000000:9B:00.0": "GPU-1"}})
    assert config.gpus == {"0000:9b:00": "GPU-1"}
