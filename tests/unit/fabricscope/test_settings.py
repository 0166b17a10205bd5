"""Settings: one file, the environment over it, and errors that name their place."""

from pathlib import Path

import pytest
import yaml

from common.documents.yaml_positions import load_with_positions
from common.errors import ConfigError
from fabricscope.commands.print_config import settings_text
from fabricscope.settings import OF_INGEST, load_settings
from telemetry import catalogue

OWN = (
    "{name: serving_queue_requests, kind: gauge, unit: requests, help: Waiting., "
    "origins: [{source: vllm, name: vllm_waiting}]}"
)
GOOD = """\
global:
  cluster: pod1
  data_dir: /var/lib/fabricscope
scrape_configs:
  - job_name: dcgm
    source: dcgm
    scrape_interval: 15s
    static_configs:
      - targets: [127.0.0.1:9400]
        labels: {device: node1}
remote_write:
  - url: http://127.0.0.1:9090/api/v1/write
alerting:
  receivers:
    - {name: oncall, type: alertmanager, url: "http://127.0.0.1:9093"}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "fabricscope.yaml"
    path.write_text(text)
    return path


def test_global_values_are_defaults_of_every_section(tmp_path):
    settings = load_settings(write(tmp_path, GOOD))
    data = Path("/var/lib/fabricscope")
    assert settings.bus.embedded.path == data / "bus.sqlite"
    assert settings.analytics.state_dir == data / "analytics"
    assert settings.alerting.folder == data / "alerts"
    assert settings.ingest.publish.spool.folder == data / "ingest" / "ingest-0"
    assert settings.alerting.cluster == "pod1"
    assert settings.remote_write[0].external_labels == {"cluster": "pod1"}
    assert settings.remote_write[0].folder == data / "remote_write"
    assert settings.ingest.scrape_configs[0].scrape_interval == 15.0


def test_a_section_may_differ(tmp_path):
    settings = load_settings(write(tmp_path, GOOD + "bus: {embedded: {path: /dev/shm/bus.sqlite}}\n"))
    assert settings.bus.embedded.path == Path("/dev/shm/bus.sqlite")


def test_the_environment_goes_over_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRICSCOPE__API__PORT", "1234")
    monkeypatch.setenv("FABRICSCOPE__GLOBAL__CLUSTER", "pod9")
    settings = load_settings(write(tmp_path, GOOD + "api: {port: 99}\n"))
    assert settings.api.port == 1234
    assert settings.alerting.cluster == "pod9"


def test_no_file_is_all_defaults():
    assert load_settings(None).general.cluster == "cluster"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "gnmi_configs: [{job_name: a, source: sonic, tls: {insecure: true}, "
            "targets: [{address: 'a:1', device: b}, {address: 'a:1', device: c}]}]\n",
            "gnmi_configs.0.targets: two targets have the same address: 'a:1'",
        ),
        (
            "scrape_configs:\n- {job_name: a, source: dcgm}\njob_sources: []\n"
            "infiniband_sources: []\ngnmi_configs:\n- {job_name: a, source: sonic}\n",
            "fabricscope.yaml:5:1: gnmi_configs: the name 'a' is duplicated",
        ),
        (
            "scrape_configs: [{job_name: a, source: dcgm, tls_config: {cert_file: a.pem}}]\n",
            "scrape_configs.0.tls_config: cert_file and key_file belong together: expected both or none; name a file "
            "that holds both twice",
        ),
        (
            "scrape_configs: [{job_name: a, source: nodeexporter}]\n",
            "scrape_configs.0.source: nothing maps the names of 'nodeexporter' (did you mean node_exporter?): "
            "expected one of amd, ",
        ),
        (
            "scrape_configs: [{job_name: a, source: dcgm, static_configs: [{targets: ['http://a:9400/metrics']}]}]\n",
            "scrape_configs.0.static_configs: target 'http://a:9400/metrics': expected host:port; the rest belongs "
            "in scheme and metrics_path",
        ),
        (
            "alerting:\n  receivers:\n  - {name: a, type: slak}\n",
            "fabricscope.yaml:3:5: alerting.receivers.0: type: expected one of 'alertmanager', 'webhook', found 'slak'",
        ),
        ("alerting: {receivers: [{name: a}]}\n", "1:24: alerting.receivers.0: type: is missing"),
        (
            "alerting:\n  receivers:\n  - {name: a, type: webhook, url: 'a:9093'}\n",
            "fabricscope.yaml:3:30: alerting.receivers.0.url: expected an address that begins with http:// or "
            "https://, found 'a:9093'",
        ),
        (
            "remote_write: [{url: 'a:9090/write'}]\n",
            "1:17: remote_write.0.url: expected an address that begins with http:// or https://",
        ),
        (
            "scrape_configs:\n\t- a\n",
            "2:1: found character that cannot start any token: indent lines by spaces, not by tabs",
        ),
        (
            "scrape_configs:\n  - job_name: a\n   source: b\n",
            "3:4: did not find expected '-' indicator: is the line indented as those above it?",
        ),
        ("api:\n  prot: 1\n", "fabricscope.yaml:2:3: api.prot: unknown key, did you mean port?"),
        ("nonsense: 1\n", "fabricscope.yaml:1:1: nonsense: unknown key"),
        ("global:\n  clutser: a\n", "fabricscope.yaml:2:3: global.clutser: unknown key, did you mean cluster?"),
        (
            "scrape_configs:\n  - job_name: a\n    interval: 5s\n",
            "fabricscope.yaml:3:5: scrape_configs.0.interval: unknown key, did you mean scrape_interval?",
        ),
        (
            "api:\n  port: high\n",
            "fabricscope.yaml:2:3: api.port: expected a whole number, found 'high'",
        ),
        (
            "analytics:\n  engine:\n    detection:\n      scored: {node_laod_1m: 1}\n",
            "fabricscope.yaml:4:7: analytics.engine.detection.scored: node_laod_1m: expected metrics of the catalogue",
        ),
        (
            "metrics:\n  - " + OWN.replace("serving_queue_requests", "gpu_power_watts") + "\n",
            "fabricscope.yaml:2:6: metrics.0.name: gpu_power_watts is a metric of the catalogue",
        ),
        (
            f"metrics: [{OWN}, {OWN}]\n",
            "fabricscope.yaml:1:1: metrics: serving_queue_requests: expected each name once",
        ),
        (
            f"metrics: [{OWN}]\nscrape_configs: [{{job_name: a, source: x, mapping: [{{metric: serving_queue}}]}}]\n",
            "expected a metric of the catalogue, or one that `metrics` defines, found 'serving_queue'",
        ),
        (
            "gnmi_configs: [{targets: [{address: leaf1, device: leaf1}]}]\n",
            "fabricscope.yaml:1:28: gnmi_configs.0.targets.0.address: expected host:port or [IPv6]:port, found 'leaf1'",
        ),
        (
            "snmp_configs: [{community_file: c, targets: [{address: 'sw1/', device: sw1}]}]\n",
            "fabricscope.yaml:1:47: snmp_configs.0.targets.0.address: expected host, host:port or [IPv6]:port",
        ),
        ("api: [\n", "fabricscope.yaml:2:1:"),
        ("api: &a {port: 1}\nbus: *a\n", "fabricscope.yaml:2:6: aliases are not accepted"),
        ("api: {port: 1}\napi: {port: 2}\n", "fabricscope.yaml:2:1: api is defined twice"),
        ("scrape_configs: [{job_name: a, scrape_interval: fast}]\n", "1h30m, found 'fast'"),
        ("- a\n", "fabricscope.yaml:1:1: expected keys with values"),
        ("bus: 5\n", "fabricscope.yaml:1:1: bus: expected keys with values, found 5"),
        (
            "api: {}\nbus: {embedded: [1]}\n",
            "fabricscope.yaml:2:7: bus.embedded: expected keys with values, found a list",
        ),
        (
            "remote_write: [{external_labels: a}]\n",
            ":1:17: remote_write.0.external_labels: expected keys with values, ",
        ),
        ("scrape_configs: 5\n", "fabricscope.yaml:1:1: scrape_configs: expected a list, found 5"),
        (
            "gnmi_configs: [{job_name: a, source: sonic, targets: [leaf1:8080]}]\n",
            "gnmi_configs.0.targets.0: expected keys with values, found 'leaf1:8080'",
        ),
        ("api: {trusted_network: 2 maybe}\n", "api.trusted_network: expected true or false, found '2 maybe'"),
        ("remote_write: [{}]\n", "remote_write.0.url: is missing"),
        (f"global: {{cluster: {'x' * 65}}}\n", "fabricscope.yaml:1:10: global.cluster: String should have at most 64"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, text, message):
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, text))
    assert message in str(caught.value)


def test_errors_come_by_line_and_end_in_what_is_wrong(tmp_path):
    wrong = (
        "bus: {kind: redis}\nanalytics: {engine: {interval_s: 10s}}\n"
        "scrape_configs: [{job_name: a, source: dcgm, tls_config: {cert_file: a}}]\napi: {port: 90990}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, wrong))
    lines = str(caught.value).splitlines()
    assert [line.removeprefix(f"{tmp_path}/fabricscope.yaml:")[0] for line in lines] == list("1234")
    assert "found keys" not in lines[2]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "ingest:\n  scrape_configs:\n    - job_name: a\n      intervall: 5s\n",
            "4:7: ingest.scrape_configs.0.intervall: ",
        ),
        ("ingest:\n  scheduler:\n    unhealthy: 5\n", "3:5: ingest.scheduler.unhealthy: "),
        ("ingest:\n  nccl_ras_sources:\n    - {job_name: a}\n", "3:7: ingest.nccl_ras_sources.0.targets: is missing"),
        (
            "nccl_ras_sources:\n  - targets:\n      - {device: a, addresses: [b], monitor: maybe}\n",
            "3:37: nccl_ras_sources.0.targets.0.monitor: expected true or false, found 'maybe'",
        ),
        ("ingest:\n  job_sources: 5\n", "2:3: ingest.job_sources: expected a list"),
        (
            "ingest:\n  scrape_configs:\n    - job_name: a\n      source: dcmg\n",
            "4:7: ingest.scrape_configs.0.source: nothing maps the names of 'dcmg' ",
        ),
        (
            "scrape_configs:\n  - job_name: a\n    source: dcgm\n    scrape_timeout: 1h\n",
            "4:5: scrape_configs.0.scrape_timeout: expected at most scrape_interval, found '1h'",
        ),
        (
            "api: {}\njob_sources: [{name: a, file: b}, {name: a, file: c}]\n",
            "2:1: job_sources: the name 'a' is duplicated",
        ),
        (
            "ingest: {job_sources: []}\njob_sources: []\n",
            "2:1: job_sources: expected at the top or below ingest, found both",
        ),
        (
            "ingest:\n  job_sources: [{name: a, file: b}, {name: a, file: c}]\n",
            "2:3: ingest.job_sources: the name 'a' is duplicated",
        ),
    ],
)
def test_an_error_of_what_is_collected_has_the_place_of_its_key_in_either_form_of_the_file(tmp_path, text, place):
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, text))
    assert f"fabricscope.yaml:{place}" in str(caught.value)


def test_every_section_of_what_is_collected_has_places_below_ingest(tmp_path):
    sections = [name for name in OF_INGEST if name != "inventory"]
    text = "ingest:\n" + "".join(f"  {name}:\n    - nonsense: 1\n" for name in sections)
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, text))
    for number, name in enumerate(sections):
        assert f"fabricscope.yaml:{2 * number + 3}:7: ingest.{name}.0.nonsense: unknown key" in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FABRICSCOPE__API__PORT", "high", "api.port: expected a whole number, found 'high'"),
        ("FABRICSCOPE__API__PROT", "1", "api.prot: unknown key, did you mean port?"),
        ("FABRICSCOPE__API", "5", "api: expected keys with values, found 5"),
        ("FABRICSCOPE__API", "{port: high}", "api.port: expected a whole number, found 'high'"),
        ("FABRICSCOPE__API__PORT__X", "5", "api.port: expected keys with values, found 99"),
    ],
)
def test_an_error_in_the_environment_names_the_variable(tmp_path, monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, GOOD + "api: {port: 99}\n"))
    assert str(caught.value) == f"environment {variable}: {message}"


def test_metrics_of_the_user_s_own_are_known_to_all_sections(tmp_path):
    vllm = [(metric.name, origin.name) for metric, origin in catalogue.origins_of("vllm")]
    used = (
        "scrape_configs: [{job_name: a, source: vllm}, {job_name: b, source: x, mapping: "
        "[{metric: serving_queue_requests, name: depth}]}]\n"
        "analytics: {engine: {detection: {scored: {serving_queue_requests: 3}}}}\n"
    )
    settings = load_settings(write(tmp_path, f"metrics: [{OWN}]\n{used}"))
    by_source, by_mapping = (job.origins() for job in settings.ingest.scrape_configs)
    names = [(metric.name, origin.name) for metric, origin in by_source]
    own = ("serving_queue_requests", "vllm_waiting")
    assert [name for name in names if name not in vllm] == [own]
    assert [name for name in names if name != own] == vllm
    assert [(metric.name, origin.name) for metric, origin in by_mapping] == [("serving_queue_requests", "depth")]
    with pytest.raises(ConfigError):
        load_settings(write(tmp_path, "metrics: []\nnonsense: 1\n"))
    assert "serving_queue_requests" in catalogue.metrics()  # what is wrong changes nothing
    with pytest.raises(ConfigError, match=r"scored: serving_queue_requests: expected metrics of the catalogue"):
        load_settings(write(tmp_path, used))
    load_settings(None)
    assert "serving_queue_requests" not in catalogue.metrics()


def test_a_mapping_alone_may_say_what_a_metric_of_the_user_s_own_is_called(tmp_path):
    own = "{name: nccl_bandwidth, kind: gauge, unit: ratio, help: Share of the best.}"
    job = "{job_name: a, source: x, mapping: [{metric: nccl_bandwidth, name: bw}]}"
    settings = load_settings(write(tmp_path, f"metrics: [{own}]\nscrape_configs: [{job}]\n"))
    (origin,) = settings.ingest.scrape_configs[0].origins()
    assert (origin[0].name, origin[0].unit, origin[1].name) == ("nccl_bandwidth", "ratio", "bw")
    assert not any("nccl_bandwidth" in line for line in settings.summary())
    settings = load_settings(write(tmp_path, f"metrics: [{own}, {OWN}]\n"))
    assert "metrics that no origin and no mapping here names: nccl_bandwidth" in settings.summary()
    load_settings(None)


@pytest.mark.parametrize(
    "receiver",
    [
        'otlp_receivers: [{listen: "127.0.0.1:4317", allow: [127.0.0.1], RULES}]',
        "remote_write_receivers: [{host: 127.0.0.1, port: 9201, RULES}]",
    ],
)
def test_a_mapping_of_what_is_pushed_names_a_metric_too(tmp_path, receiver):
    own = "{name: nccl_bandwidth, kind: gauge, unit: ratio, help: Share of the best.}"
    rules = receiver.replace("RULES", "rules: [{source: x, mapping: [{metric: nccl_bandwidth, name: bw}]}]")
    settings = load_settings(write(tmp_path, f"metrics: [{own}]\n{rules}\n"))
    assert settings.ingest.mapped() == {"nccl_bandwidth"}
    load_settings(None)


@pytest.mark.parametrize("text", ["a: " + "[" * 60 + "]" * 60, "a: '" + "x" * 1_100_000 + "'"])
def test_too_deep_or_too_large_is_refused(tmp_path, text):
    with pytest.raises(ConfigError):
        load_with_positions(write(tmp_path, text))


def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        load_settings(tmp_path / "nowhere.yaml")


def test_the_printed_sample_is_a_valid_file(tmp_path):
    printed = settings_text()
    assert "# Address to listen on." in printed
    assert yaml.safe_load(printed)["api"]["port"] == 9099
    assert load_settings(write(tmp_path, printed)).ingest == load_settings(None).ingest


OTLP = "{job_name: %s, listen: '%s', allow: [127.0.0.1], rules: [{source: cumulus}]}"
WRITE = "{job_name: %s, host: '%s', port: 4317, trusted_network: true, rules: [{source: dcgm}]}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OTLP % ("a", "127.0.0.1:4317"), WRITE % ("b", "127.0.0.1")),
        (OTLP % ("a", "0.0.0.0:4317"), WRITE % ("b", "127.0.0.1")),
        (OTLP % ("a", "[::1]:4317"), WRITE % ("b", "::")),
    ],
)
def test_two_receivers_do_not_share_an_address(tmp_path, first, second):
    text = f"otlp_receivers: [{first}]\nremote_write_receivers: [{second}]\n"
    with pytest.raises(
        ConfigError, match=r":2:1: .*remote_write_receivers: b: expected another address than that of a$"
    ):
        load_settings(write(tmp_path, text))
    for other in ("127.0.0.2", "127.0.0.1"):  # another address, and any free port
        apart = OTLP % ("a", "127.0.0.1:4317" if other == "127.0.0.2" else "127.0.0.1:0")
        load_settings(write(tmp_path, f"otlp_receivers: [{apart}]\nremote_write_receivers: [{WRITE % ('b', other)}]\n"))


def test_a_list_whose_only_entry_is_wrong_is_not_said_to_be_empty(tmp_path):
    text = "otlp_receivers: [{job_name: a, listen: 'h:1', allow: [127.0.0.1], rules: [{source: cumuls}]}]\n"
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, text))
    (line,) = str(caught.value).splitlines()
    assert "otlp_receivers.0.rules.0.source: nothing maps the names of 'cumuls' (did you mean cumulus?)" in line
    with pytest.raises(ConfigError, match=r"otlp_receivers.0.rules: .* at least 1 item"):
        load_settings(write(tmp_path, text.replace("[{source: cumuls}]", "[]")))
