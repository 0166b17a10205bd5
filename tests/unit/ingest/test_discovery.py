"""Which targets a job has."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from common.errors import BadInput
from common.units import seconds
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.config import IngestConfig
from ingest.discovery import Discovery, TargetGroup, resolve
from ingest.relabel import RelabelConfig, relabel


def job(**settings: object) -> ScrapeConfig:
    return ScrapeConfig.model_validate({"job_name": "node", "source": "node_exporter", **settings})


def group(*targets: str, **labels: str) -> TargetGroup:
    return TargetGroup(targets=targets, labels=labels)


def test_a_target_is_named_by_job_and_address_and_speaks_for_its_device() -> None:
    one, two = resolve(job(), [group("10.0.0.1:9100"), group("[::1]:9100", device="node2", rack="r1")])
    assert (one.name, one.device, one.url.path) == ("node/10.0.0.1:9100", "10.0.0.1", "/metrics")
    assert (two.name, two.device, two.url.host, two.url.port) == ("node/[::1]:9100", "node2", "::1", 9100)
    assert dict(two.identity) == {"device": "node2", "rack": "r1"}
    assert two.url.authority == "[::1]:9100"


def test_an_address_twice_is_one_target_and_paths_tell_targets_apart() -> None:
    assert len(resolve(job(), [group("a:1", "a:1"), group("a:1")])) == 1
    other = resolve(job(metrics_path="/x", params={"module": ("a b", "c")}), [group("a:1")])[0]
    assert (other.name, other.url.path) == ("node/a:1/x?module=a+b&module=c", "/x?module=a+b&module=c")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            [{"source_labels": ["a", "b"], "target_label": "c", "regex": "(x);(.*)", "replacement": "$2-${1}"}],
            {"c": "y-x"},
        ),
        ([{"source_labels": ["a"], "target_label": "c", "regex": "nope"}], {}),
        ([{"source_labels": ["a"], "target_label": "b", "replacement": ""}], {"b": None}),
        ([{"action": "keep", "source_labels": ["a"], "regex": "x|z"}], {}),
        ([{"action": "keep", "source_labels": ["a"], "regex": "z"}], None),
        ([{"action": "drop", "source_labels": ["a"], "regex": "x"}], None),
        ([{"action": "labelmap", "regex": "__meta_(.+)"}], {"site": "s1"}),
    ],
)
def test_relabelling(rules: list[dict[str, object]], expected: dict[str, str | None] | None) -> None:
    labels = {"a": "x", "b": "y", "__meta_site": "s1"}
    result = relabel(labels, [RelabelConfig.model_validate(rule) for rule in rules])
    if expected is None:
        assert result is None
    else:
        merged = {name: value for name, value in (labels | expected).items() if value is not None}
        assert result == merged


def test_relabelling_decides_device_address_and_membership() -> None:
    rules = [
        {"action": "drop", "source_labels": ["__address__"], "regex": "bad.*"},
        {"source_labels": ["__address__"], "regex": "10.0.0.([0-9]+)", "target_label": "device", "replacement": "n$1"},
        {"source_labels": ["__address__"], "target_label": "__address__", "replacement": "$1:9100"},
    ]  # fmt: skip
    (target,) = resolve(job(relabel_configs=rules), [group("10.0.0.7", "bad1")])
    assert (target.name, target.device) == ("node/10.0.0.7:9100", "n7")


async def test_files_are_followed_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"targets": ["a:1"], "labels": {"device": "d"}}]))
    (tmp_path / "b.yml").write_text("- targets: [b:1]\n")
    discovery = Discovery(job(file_sd_configs=[{"files": [str(tmp_path / "*")]}]))
    assert [target.name for target in await discovery.refresh()] == ["node/a:1", "node/b:1"]
    file.write_text("[{not json")
    assert len(await discovery.refresh()) == 2
    file.write_text('{"targets": "a"}')
    assert len(await discovery.refresh()) == 2
    file.write_text("[]")
    assert [target.name for target in await discovery.refresh()] == ["node/b:1"]


async def test_an_http_service_is_followed_and_its_failure_changes_nothing() -> None:
    answers = [b'[{"targets": ["a:1", "b:1"], "labels": {"__meta_x": "y"}}]', b'{"no": "list"}', b"", b"[]"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = answers.pop(0)
        status = b"200 OK" if body else b"500 Oops"
        writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    discovery = Discovery(job(http_sd_configs=[{"url": f"http://127.0.0.1:{port}/sd", "refresh_interval": "5s"}]))
    assert discovery.refresh_s == 5.0
    assert [len(await discovery.refresh()) for _ in range(5)] == [2, 2, 2, 0, 0]
    server.close()


@pytest.mark.parametrize(
    ("settings", "where", "message"),
    [
        ({"scrape_intervall": "10s"}, "scrape_intervall", "Extra inputs are not permitted"),
        ({"scrape_interval": "fast"}, "scrape_interval", "expected a duration above zero"),
        ({"scrape_interval": "5s", "scrape_timeout": "6s"}, "", "expected at most scrape_interval"),
        ({"source": "dcmg"}, "", "expected one of dcgm, node_exporter"),
        ({"mapping": [{"metric": "gpu_power", "name": "x"}]}, "mapping.0.metric", "expected a metric of the catalogue"),
        ({"relabel_configs": [{"regex": "("}]}, "relabel_configs.0.regex", "expected a regular expression"),
        ({"relabel_configs": [{"source_labels": ["a"]}]}, "relabel_configs.0", "target_label"),
        ({"static_configs": [{"labels": {}}]}, "static_configs.0.targets", "Field required"),
        ({"scheme": "ftp"}, "scheme", "Input should be 'http' or 'https'"),
        (
            {"basic_auth": {"username": "a", "password_file": "/x"}, "authorization": {"credentials_file": "/y"}},
            "",
            "not together with basic_auth",
        ),
    ],
)
def test_errors_of_the_settings_name_the_key(settings: dict[str, object], where: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        job(**settings)
    (error,) = caught.value.errors()
    assert ".".join(map(str, error["loc"])) == where
    assert message in error["msg"]


def test_the_timeout_follows_the_interval() -> None:
    assert job(scrape_interval="3s").timeout_s == 3.0


def test_job_names_are_unique() -> None:
    one = {"job_name": "a", "source": "dcgm"}
    with pytest.raises(ValidationError, match="stands there twice"):
        IngestConfig.model_validate({"scrape_configs": [one, one]})


@pytest.mark.parametrize(("text", "expected"), [("500ms", 0.5), ("1m30s", 90.0), ("1h", 3600.0), (2, 2.0), (0.5, 0.5)])
def test_durations(text: object, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "10", "1s1m", "-1s", 0, -1, True, None, "0s", float("inf"), float("nan")])
def test_no_durations(text: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        seconds(text)


def test_a_bad_group_is_named() -> None:
    from ingest.discovery import parse_groups

    with pytest.raises(BadInput, match=r"here: 0\.targets: "):
        parse_groups([{"targets": 7}], "here")
