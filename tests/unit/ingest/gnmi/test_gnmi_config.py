from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from common.errors import ConfigError
from common.units import NS_PER_S as S
from ingest.collectors.gnmi.config import Config, Encoding, Mode, PathConfig, Source, SubscriptionConfig
from ingest.collectors.gnmi.subscriptions import DEFAULTS, refresh_s, request_of, silence_s, subscriptions_of
from ingest.collectors.quota import Quota
from telemetry.catalogue import origins_of
from telemetry.gnmi import gnmi_pb2

TARGET = {"address": "127.0.0.1:50051", "device": "leaf1"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"username_file": Path("u")}, "belong together"),
        ({"username_file": Path("u"), "password_file": Path("p"), "tls": {"insecure": True}}, "needs TLS"),
        ({"tls": {"insecure": True, "skip_verify": True}}, "no effect"),
        ({"tls": {"cert_file": Path("c")}}, "belong together"),
        ({"targets": [TARGET, TARGET]}, "same address"),
        ({"targets": [{"address": "leaf1", "device": "leaf1"}]}, "address"),
        ({"tls": {"verify": False}}, "Extra inputs"),
    ],
)
def test_what_the_configuration_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Config.model_validate({"targets": [TARGET], **settings})


@pytest.mark.parametrize("address", ["leaf1:50051", "10.0.0.1:8080", "[fe80::1]:9339"])
def test_addresses(address: str) -> None:
    config = Config.model_validate({"targets": [{"address": address, "device": "leaf1"}]})
    assert config.targets[0].address == address


@pytest.mark.parametrize("source", Source)
def test_every_source_has_a_default_set_that_makes_a_request(source: Source) -> None:
    for subscription in DEFAULTS[source]:
        request = request_of(subscription, 2.0)
        assert request.subscribe.mode == gnmi_pb2.SubscriptionList.STREAM
        assert len(request.subscribe.subscription) == len(subscription.paths)
        slow = min(path.interval_s or 2.0 for path in subscription.paths)
        assert silence_s(subscription, 2.0, 2.5) == 2.5 * slow


def test_every_table_of_sonic_that_is_read_by_port_names_is_subscribed() -> None:
    subscribed = {path.path.partition("/")[0] for each in DEFAULTS[Source.SONIC] for path in each.paths}
    read = {origin.name.partition("/")[0] for _, origin in origins_of("sonic")}
    assert read - subscribed == {"USER_WATERMARKS", "PERSISTENT_WATERMARKS"}  # by ids of objects alone


def test_nx_os_is_asked_for_one_model_in_a_call() -> None:
    models = [{path.path.split("/")[1] == "System" for path in each.paths} for each in DEFAULTS[Source.CISCO]]
    assert models == [{False}, {True}]


def test_tables_that_the_platforms_refresh_once_a_minute_are_not_asked_for_more_often() -> None:
    state = {path.path: path.interval_s for each in DEFAULTS[Source.SONIC][2:] for path in each.paths}
    assert state.pop("NEIGH_STATE_TABLE") is None
    assert set(state.values()) == {60.0}


def test_port_names_are_subscribed_first() -> None:
    assert subscriptions_of(Config(source=Source.SONIC))[0].target == "APPL_DB"


def test_the_request_holds_what_was_configured() -> None:
    subscription = SubscriptionConfig(
        paths=(
            PathConfig(path="/a[b=c]", interval_s=1.5),
            PathConfig(path="/d"),
            PathConfig(path="/e", mode=Mode.ON_CHANGE, heartbeat_s=30),
        ),
        target="T",
        origin="O",
        encoding=Encoding.JSON_IETF,
    )
    wanted = request_of(subscription, 10.0).subscribe
    assert (wanted.prefix.target, wanted.prefix.origin, wanted.encoding) == ("T", "O", gnmi_pb2.JSON_IETF)
    assert [entry.mode for entry in wanted.subscription] == [gnmi_pb2.SAMPLE, gnmi_pb2.SAMPLE, gnmi_pb2.ON_CHANGE]
    assert [entry.sample_interval for entry in wanted.subscription] == [3 * S // 2, 10 * S, 0]
    assert wanted.subscription[2].heartbeat_interval == 30 * S


def test_a_malformed_path_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="path"):
        request_of(SubscriptionConfig(paths=(PathConfig(path="/a[b"),)), 1.0)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([PathConfig(path="/a", interval_s=4), PathConfig(path="/b", interval_s=60)], 10.0),
        ([PathConfig(path="/a", mode=Mode.ON_CHANGE)], None),
        ([PathConfig(path="/a", mode=Mode.ON_CHANGE, heartbeat_s=8)], 20.0),
    ],
)
def test_how_long_silence_may_last(paths: list[PathConfig], expected: float | None) -> None:
    assert silence_s(SubscriptionConfig(paths=tuple(paths)), 10.0, 2.5) == expected


def test_a_quota_lets_two_seconds_through_at_once_and_then_its_rate() -> None:
    quota = Quota(100)
    assert quota.admit(1000, 0) == 200
    assert quota.admit(10, 0) == 0
    assert quota.admit(1000, S // 2) == 50
    assert quota.admit(1000, 100 * S) == 200
    assert quota.admit(1000, 99 * S) == 0  # a clock that was set back gives nothing


@pytest.mark.parametrize(
    ("source", "path", "floor_s"),
    [
        (Source.SONIC, "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups", 60.0),
        (Source.JUNOS, "/junos/system/linecard/qmon-sw", 10.0),
        (Source.SONIC, "COUNTERS/Ethernet*", 0.0),  # of some of it nobody knows
        (Source.OPENCONFIG, "/nothing/of/ours", 0.0),
    ],
)
def test_how_often_a_source_has_something_new(source: Source, path: str, floor_s: float) -> None:
    assert refresh_s(source, path) == floor_s


def intervals_s(config: Config) -> dict[str, float]:
    """Of the paths as they are asked for."""
    asked = [request_of(each, config.interval_s).subscribe for each in subscriptions_of(config)]
    return {
        "/".join(elem.name for elem in entry.path.elem): entry.sample_interval / 1e9
        for each in asked
        for entry in each.subscription
    }


def test_no_path_is_asked_for_more_often_than_its_source_reads_it() -> None:
    often = intervals_s(Config(source=Source.SONIC, interval_s=2.0))
    assert (often["PERIODIC_WATERMARKS/Ethernet*/PriorityGroups"], often["COUNTERS/Ethernet*"]) == (60.0, 2.0)
    rarely = intervals_s(Config(source=Source.SONIC, interval_s=300.0))
    assert rarely["PERIODIC_WATERMARKS/Ethernet*/PriorityGroups"] == 300.0


def test_an_interval_that_a_path_has_is_used_as_it_stands() -> None:
    path = PathConfig(path="PERIODIC_WATERMARKS/Ethernet*/PriorityGroups", interval_s=1.0)
    own = SubscriptionConfig(target="COUNTERS_DB", paths=(path,))
    config = Config(source=Source.SONIC, interval_s=2.0, subscriptions=(own,))
    assert intervals_s(config) == {path.path: 1.0}
