"""Which targets a job has."""

import asyncio
import json
import os
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from common.errors import BadInput, ConfigError
from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import Discovery, TargetGroup, parse_groups, resolve
from ingest.collectors.exposition.job import ScrapeJob, scrape_jobs
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from tests.servers.certificates import Certificates


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


def test_a_target_s_label_job_replaces_the_name_of_its_job() -> None:
    one, two, three = resolve(job(), [group("a:1", job="storage", device="d"), group("b:1"), group("c:1", job="")])
    assert (one.name, dict(one.identity)) == ("storage/a:1", {"device": "d"})
    assert (two.name, three.name) == ("node/b:1", "node/c:1")


async def test_of_two_jobs_only_one_has_a_target_of_one_name() -> None:
    groups = [{"targets": ["a:1"], "labels": {"job": "both"}}]
    configs = [job(job_name=name, static_configs=groups) for name in ("first", "second")]
    with ThreadPoolExecutor(1) as workers, capture_logs() as logged:
        first, second = scrape_jobs(configs, CollectorContext(Ledger(0), lambda: 0, workers))
        assert [each.name for each in (await first.refresh()).added] == ["both/a:1"]
        assert list((await second.refresh()).added) == []
    assert [line["error"] for line in logged] == ["job first has one of this name"]


def test_an_address_twice_is_one_target_and_paths_distinguish_targets() -> None:
    assert len(resolve(job(), [group("a:1", "a:1"), group("a:1")])) == 1
    other = resolve(job(metrics_path="/x", params={"module": ("a b", "c")}), [group("a:1")])[0]
    assert (other.name, other.url.path) == ("node/a:1/x?module=a+b&module=c", "/x?module=a+b&module=c")


def test_relabelling_decides_device_address_and_membership() -> None:
    rules = [
        {"action": "drop", "source_labels": ["__address__"], "regex": "bad.*"},
        {"source_labels": ["__address__"], "regex": "10.0.0.([0-9]+)", "target_label": "device", "replacement": "n$1"},
        {"source_labels": ["__address__"], "target_label": "__address__", "replacement": "$1:9100"},
    ]  # fmt: skip
    (target,) = resolve(job(relabel_configs=rules), [group("10.0.0.7", "bad1")])
    assert (target.name, target.device) == ("node/10.0.0.7:9100", "n7")


def test_an_exporter_that_asks_others_is_sent_whom_to_ask() -> None:
    """As Prometheus does it for snmp_exporter, ipmi_exporter and their like."""
    rules = [
        {"source_labels": ["__address__"], "target_label": "__param_target"},
        {"source_labels": ["__param_target"], "target_label": "device"},
        {"target_label": "__address__", "replacement": "exporter:9290"},
    ]
    params = {"module": ["dcmi", "b"], "target": ["nobody"]}
    one, two = resolve(job(metrics_path="/ipmi", params=params, relabel_configs=rules), [group("bmc1", "bmc2")])
    assert (one.name, one.device) == ("node/exporter:9290/ipmi?module=dcmi&module=b&target=bmc1", "bmc1")
    assert (two.url.host, two.url.path, two.device) == ("exporter", "/ipmi?module=dcmi&module=b&target=bmc2", "bmc2")
    rack = [*rules, {"source_labels": ["__param_module"], "target_label": "kind"}]
    (three,) = resolve(job(params=params, relabel_configs=rack), [group("bmc1", __param_module="x", __param_new="y")])
    assert three.url.path == "/metrics?module=x&module=b&target=bmc1&new=y"
    assert dict(three.identity) == {"device": "bmc1", "kind": "x"}


def test_a_path_of_a_target_begins_with_a_slash() -> None:
    (target,) = resolve(job(), [group("a:1", __metrics_path__="federate")])
    assert (target.url.path, target.name) == ("/federate", "node/a:1/federate")


def test_labels_that_no_series_can_have_are_refused() -> None:
    """Nothing downstream could read the series of such a target."""
    with pytest.raises(ValidationError, match="label 'rack-row': expected letters"):
        job(static_configs=[{"targets": ["a:1"], "labels": {"rack-row": "r1"}}])
    with pytest.raises(BadInput, match=r"hosts.json: 0.labels.*label 'rack-row': expected letters"):
        parse_groups([{"targets": ["a:1"], "labels": {"rack-row": "r1"}}], "hosts.json")


async def test_rules_see_where_a_target_was_found(tmp_path: Path) -> None:
    file = tmp_path / "racks.json"
    file.write_text('[{"targets": ["a:1"]}]')
    rules = [{"source_labels": ["__meta_filepath"], "regex": ".*/(.*)[.]json", "target_label": "place"}]
    (target,) = await Discovery(job(file_sd_configs=[{"files": [str(file)]}], relabel_configs=rules)).refresh()
    assert dict(target.identity)["place"] == "racks"


@pytest.mark.parametrize(
    "address", ["a:99999", "a:1e3", "[::1:9100", "[::x]:9100", ":9100", "a b:1", "ftp.test:1"], ids=str
)
def test_an_address_that_is_of_no_use_costs_no_other_target(address: str) -> None:
    labels = {"__scheme__": "ftp"} if address.startswith("ftp") else {}
    bad = TargetGroup(targets=(address,), labels=labels)
    assert [target.name for target in resolve(job(), [bad, group("b:1")])] == ["node/b:1"]


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
    file.write_text("[" * 300_000)
    assert len(await discovery.refresh()) == 2
    file.write_text("[]")
    assert [target.name for target in await discovery.refresh()] == ["node/b:1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"#" * (4 * 1024 * 1024 + 1), ": expected at most 4194304 bytes"),
        (b"- &a {targets: [a:1]}\n- *a\n", ":2:3: aliases are not accepted"),
        (b"- " * 60 + b"a", ":1:101: nested deeper than 50 levels"),
        (b"- targets: [a:1\n", ":2:1: did not find expected"),
        (b'[{"targets": ["carol:s3cret@a:1"]}]', ": 0.targets.0: Value error, expected host:port without user name"),
        (None, ": expected a file"),
    ],
    ids=["too large", "alias", "too deep", "no YAML", "password", "pipe"],
)
async def test_a_file_out_of_bounds_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.yml"
    file.write_text("- targets: [b:1]\n")
    discovery = Discovery(job(file_sd_configs=[{"files": [str(file)]}]))
    assert len(await discovery.refresh()) == 1
    file.unlink()
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)
    with capture_logs() as logged:
        assert [target.name for target in await discovery.refresh()] == ["node/b:1"]
    (line,) = logged
    assert line["error"].startswith(f"{file}{message}")
    assert "s3cret" not in str(line)


async def test_an_http_service_is_sent_a_secret_over_a_verified_connection(
    certificates: Certificates, tmp_path: Path
) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = b'[{"targets": ["a:1"]}]'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate("server"), certificates.key("server"))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/sd"
    (tmp_path / "token").write_text("s3cret\n")
    secured = {
        "url": url,
        "authorization": {"credentials_file": tmp_path / "token"},
        "tls_config": {"ca_file": certificates.authority, "server_name": "switch.example"},
    }
    rules = [{"source_labels": ["__meta_url"], "target_label": "found"}]
    (target,) = await Discovery(job(http_sd_configs=[secured], relabel_configs=rules)).refresh()
    assert dict(target.identity)["found"] == url
    assert b"authorization: bearer s3cret\r\n" in asked[0].lower()
    (tmp_path / "token").unlink()
    assert await Discovery(job(http_sd_configs=[secured])).refresh() == []
    assert await Discovery(job(http_sd_configs=[{"url": url}])).refresh() == []
    assert len(asked) == 1
    server.close()


def test_secrets_of_an_http_service_are_checked_at_the_start(tmp_path: Path) -> None:
    http = {"url": "http://a/sd", "basic_auth": {"username": "u", "password_file": tmp_path / "absent"}}
    with (
        ThreadPoolExecutor(1) as workers,
        pytest.raises(ConfigError, match=r"node: http_sd_configs.0.basic_auth.password_file: .*absent is not a"),
    ):
        scrape_jobs([job(http_sd_configs=[http])], CollectorContext(Ledger(0), lambda: 0, workers))
    with pytest.raises(ValidationError, match="not together with basic_auth"):
        job(http_sd_configs=[{**http, "authorization": {"credentials_file": "x"}}])


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


async def test_nobody_says_which_targets_there_are_before_every_source_was_read(tmp_path: Path) -> None:
    """After a restart a list that lacks what could not be read would end what is open about it."""
    file, workers = tmp_path / "a.json", ThreadPoolExecutor(1)
    file.write_text("[{not json")
    found = ScrapeJob(
        job(static_configs=[{"targets": ["s:1"]}], file_sd_configs=[{"files": [str(file)]}]),
        CollectorContext(Ledger(0), lambda: 0, workers),
        {},
    )
    changes = await found.refresh()
    assert ([each.name for each in changes.added], changes.targets) == (["node/s:1"], None)
    file.write_text(json.dumps([{"targets": ["a:1"], "labels": {"device": "d"}}]))
    assert (await found.refresh()).targets == (("node/s:1", "s"), ("node/a:1", "d"))
    workers.shutdown()


@pytest.mark.parametrize(
    ("settings", "where", "message"),
    [
        ({"scrape_intervall": "10s"}, "scrape_intervall", "Extra inputs are not permitted"),
        ({"scrape_interval": "fast"}, "scrape_interval", "expected a duration above zero"),
        ({"scrape_interval": "5s", "scrape_timeout": "6s"}, "", "expected at most scrape_interval"),
        ({"source": "dcmg"}, "", "expected one of amd, arista"),
        ({"mapping": [{"metric": "gpu_power", "name": "x"}]}, "mapping.0.metric", "expected a metric of the catalogue"),
        ({"relabel_configs": [{"regex": "("}]}, "relabel_configs.0.regex", "expected a regular expression"),
        ({"mapping": [{"metric": "gpu_power_watts", "name": "x{a}{b}"}]}, "mapping.0.name", "text other than digits"),
        ({"relabel_configs": [{"source_labels": ["a"]}]}, "relabel_configs.0", "target_label"),
        ({"static_configs": [{"labels": {}}]}, "static_configs.0.targets", "Field required"),
        ({"static_configs": [{"targets": ["u:pw@a:1"]}]}, "static_configs.0.targets.0", "without user name"),
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
    with pytest.raises(ValidationError, match="is duplicated"):
        IngestConfig.model_validate({"scrape_configs": [one, one]})


def test_a_bad_group_is_named() -> None:
    with pytest.raises(BadInput, match=r"here: 0\.targets: "):
        parse_groups([{"targets": 7}], "here")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([], []),
        ([{"targets": ["a:1"]}], [(("a:1",), {})]),
        ([{"targets": ["a:1", "b:2"], "labels": {"rack": "r1"}}], [(("a:1", "b:2"), {"rack": "r1"})]),
        ([{"targets": []}], [((), {})]),
        ([{"targets": ["a:1"], "source": "of a newer version"}], [(("a:1",), {})]),
    ],
)
def test_target_groups(content: object, expected: list[tuple[tuple[str, ...], dict[str, str]]]) -> None:
    assert [(found.targets, found.labels) for found in parse_groups(content, "here")] == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "here: list: Input should be a valid"),
        (["a:1"], "here: 0: Input should be"),
        ([{"labels": {}}], "here: 0.targets: Field required"),
        ([{"targets": ["a:1", 7]}], "here: 0.targets.1: Input should be a valid string"),
        ([{"targets": ["a:1"]}, {"targets": ["b:1"], "labels": {"rack": 7}}], "here: 1.labels.rack: Input should be"),
    ],
)
def test_a_malformed_group_is_refused_with_its_place(content: object, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_groups(content, "here")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("settings", "labels", "expected"),
    [
        ({}, {}, ("node/a:1", "a", "http", "a", 1, "/metrics")),
        ({"scheme": "https"}, {}, ("node/a:1", "a", "https", "a", 1, "/metrics")),
        ({"metrics_path": "/probe"}, {}, ("node/a:1/probe", "a", "http", "a", 1, "/probe")),
        ({}, {"__scheme__": "https"}, ("node/a:1", "a", "https", "a", 1, "/metrics")),
        ({}, {"__metrics_path__": "/x"}, ("node/a:1/x", "a", "http", "a", 1, "/x")),
        ({}, {"device": "node7"}, ("node/a:1", "node7", "http", "a", 1, "/metrics")),
        # a group cannot rename its job or its address
        ({}, {"__address__": "b:2"}, ("node/a:1", "a", "http", "a", 1, "/metrics")),
    ],
)
def test_where_a_target_is_and_what_it_is_called(
    settings: dict[str, object], labels: dict[str, str], expected: tuple[object, ...]
) -> None:
    (target,) = resolve(job(**settings), [TargetGroup(targets=("a:1",), labels=labels)])
    url = target.url
    assert (target.name, target.device, url.scheme, url.host, url.port, url.path) == expected


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_address_without_a_port_gets_the_scheme_s_own(scheme: str, port: int) -> None:
    (target,) = resolve(job(scheme=scheme), [group("a.example")])
    assert (target.url.host, target.url.port, target.url.authority) == ("a.example", port, "a.example")


def test_labels_with_two_underscores_and_the_job_stay_inside() -> None:
    labels = {"__meta_rack": "r1", "rack": "r2", "job": "other"}
    (target,) = resolve(job(), [TargetGroup(targets=("a:1",), labels=labels)])
    assert target.identity == (("device", "a"), ("rack", "r2"))


def test_a_target_without_an_address_is_left_out() -> None:
    rules = [{"source_labels": ["__address__"], "target_label": "__address__", "regex": "a:.*", "replacement": ""}]
    assert [found.name for found in resolve(job(relabel_configs=rules), [group("a:1", "b:1")])] == ["node/b:1"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"static_configs": [{"targets": ["a:1"]}]}, None),
        ({"file_sd_configs": [{"files": ["x"]}]}, 30.0),
        ({"http_sd_configs": [{"url": "http://x/"}]}, 60.0),
        (
            {
                "file_sd_configs": [{"files": ["x"], "refresh_interval": "90s"}],
                "http_sd_configs": [{"url": "http://x/"}],
            },
            60.0,
        ),
    ],
)
def test_how_often_discovery_refreshes(settings: dict[str, object], expected: float | None) -> None:
    assert Discovery(job(**settings)).refresh_s == expected


async def test_a_job_reports_what_came_went_and_changed(tmp_path: Path) -> None:
    file, workers = tmp_path / "targets.json", ThreadPoolExecutor(1)
    context = CollectorContext(Ledger(0), lambda: 7, workers)
    scrapes = ScrapeJob(job(file_sd_configs=[{"files": [str(file)]}]), context, {})

    async def refresh(*groups: dict[str, object]) -> tuple[list[str], list[str]]:
        file.write_text(json.dumps(groups))
        removed, added, _ = await scrapes.refresh()
        return list(removed), [collector.name for collector in added]

    assert await refresh({"targets": ["a:1", "b:1"]}) == ([], ["node/a:1", "node/b:1"])
    assert await refresh({"targets": ["a:1", "b:1"]}) == ([], [])
    assert await refresh({"targets": ["b:1", "c:1"]}) == (["node/a:1"], ["node/c:1"])
    # another label is another series: the collector is replaced
    assert await refresh({"targets": ["b:1"], "labels": {"rack": "r1"}}) == (["node/b:1", "node/c:1"], ["node/b:1"])
    assert scrapes.refresh_s == 30.0
    workers.shutdown()
