"""How one file, the environment and the values of ``global`` become the sections of the stages."""

from pathlib import Path

import pytest

from common.errors import ConfigError
from fabricscope.settings import Settings, apply_global_defaults, load_settings, with_environment


@pytest.mark.parametrize(
    ("document", "environment", "merged"),
    [
        ({}, {}, {}),
        ({"api": {"port": 1}}, {"HOME": "/root", "FABRICSCOPE_CONFIG": "x"}, {"api": {"port": 1}}),
        ({"api": {"port": 1}}, {"FABRICSCOPE__API__PORT": "2"}, {"api": {"port": 2}}),
        ({"api": {"port": 1}}, {"FABRICSCOPE__API__HOST": "::1"}, {"api": {"port": 1, "host": "::1"}}),
        ({}, {"FABRICSCOPE__BUS__KAFKA__BOOTSTRAP": "[a:1, b:2]"}, {"bus": {"kafka": {"bootstrap": ["a:1", "b:2"]}}}),
        ({}, {"FABRICSCOPE__RECORDING": "{path: /x}"}, {"recording": {"path": "/x"}}),
        ({}, {"FABRICSCOPE__GLOBAL__CLUSTER": "yes"}, {"global": {"cluster": True}}),  # as YAML reads it
        ({}, {"FABRICSCOPE__GLOBAL__CLUSTER": ""}, {"global": {"cluster": None}}),
        (
            {},
            {"FABRICSCOPE__API__PORT": "1", "FABRICSCOPE__API": "{host: h}"},  # the section first, then its keys
            {"api": {"host": "h", "port": 1}},
        ),
    ],
)
def test_the_environment_over_a_document(document, environment, merged):
    assert with_environment(document, environment) == merged


def test_neither_document_is_changed():
    document = {"api": {"port": 1}, "remote_write": [{"url": "http://a"}]}
    with_environment(document, {"FABRICSCOPE__API__PORT": "2"})
    apply_global_defaults(document)
    assert document == {"api": {"port": 1}, "remote_write": [{"url": "http://a"}]}


@pytest.mark.parametrize(
    ("document", "environment", "message"),
    [
        ({}, {"FABRICSCOPE__API__PORT": "[1"}, "environment FABRICSCOPE__API__PORT: not a YAML value"),
        ({"api": 5}, {"FABRICSCOPE__API__PORT": "1"}, "api: expected keys with values, found 5"),
        (
            {"bus": {"kafka": []}},
            {"FABRICSCOPE__BUS__KAFKA__INSECURE": "true"},
            r"bus\.kafka: expected keys .* found a list",
        ),
    ],
)
def test_an_environment_that_does_not_fit(document, environment, message):
    with pytest.raises(ConfigError, match=message):
        with_environment(document, environment)


DEFAULTS = {
    "ingest": {"publish": {"spool": {"folder": Path("data/ingest/ingest-0")}}},
    "bus": {"embedded": {"path": Path("data/bus.sqlite")}},
    "analytics": {"state_dir": Path("data/analytics")},
    "api": {"state_dir": Path("data/api")},
    "alerting": {"cluster": "cluster", "folder": Path("data/alerts")},
}


@pytest.mark.parametrize(
    ("document", "changed"),
    [
        ({}, {}),
        (
            {"global": {"cluster": "pod1"}},
            {"alerting": {"cluster": "pod1", "folder": Path("data/alerts")}, "global": {"cluster": "pod1"}},
        ),
        (
            {"global": {"cluster": "pod1"}, "alerting": {"cluster": "pod9"}},  # a section's own value wins
            {"alerting": {"cluster": "pod9", "folder": Path("data/alerts")}, "global": {"cluster": "pod1"}},
        ),
        (
            {"global": {"data_dir": "/d"}, "bus": {"kind": "kafka", "embedded": {"path": "/e"}}},
            {
                "global": {"data_dir": "/d"},
                "ingest": {"publish": {"spool": {"folder": Path("/d/ingest/ingest-0")}}},
                "bus": {"kind": "kafka", "embedded": {"path": "/e"}},
                "analytics": {"state_dir": Path("/d/analytics")},
                "api": {"state_dir": Path("/d/api")},
                "alerting": {"cluster": "cluster", "folder": Path("/d/alerts")},
            },
        ),
        (
            {"scrape_configs": [1], "inventory": {"file": "x"}, "ingest": {"instance": "i"}},
            {
                "ingest": {
                    "instance": "i",
                    "scrape_configs": [1],
                    "inventory": {"file": "x"},
                    "publish": {"spool": {"folder": Path("data/ingest/i")}},  # two processes may share the rest
                }
            },
        ),
        (
            {"ingest": {"publish": {"linger_s": 0, "spool": {"after_s": 2, "folder": None}}}},
            {"ingest": {"publish": {"linger_s": 0, "spool": {"after_s": 2, "folder": None}}}},
        ),
        (
            {
                "remote_write": [
                    {"url": "u"},
                    {"url": "v", "folder": "/f", "external_labels": {"cluster": "c", "a": "b"}},
                ]
            },
            {
                "remote_write": [
                    {"url": "u", "folder": Path("data/remote_write"), "external_labels": {"cluster": "cluster"}},
                    {"url": "v", "folder": "/f", "external_labels": {"cluster": "c", "a": "b"}},
                ]
            },
        ),
        ({"remote_write": "wrong"}, {"remote_write": "wrong"}),  # refused later, with its place
        ({"global": {"nonsense": 1}}, {"global": {"nonsense": 1}}),  # so is this
    ],
)
def test_global_values_are_defaults_of_the_sections(document, changed):
    assert apply_global_defaults(document) == {**DEFAULTS, **changed}


@pytest.mark.parametrize("key", ["bus", "analytics", "alerting", "api", "ingest"])
def test_a_section_that_is_no_mapping_is_named(key):
    with pytest.raises(ConfigError, match=f"{key}: expected keys with values, found"):
        apply_global_defaults({key: 1})


SUMMARY = """\
global: {cluster: pod1}
scrape_configs: [{job_name: nodes, source: node_exporter, static_configs: [{targets: ["127.0.0.1:1"]}]}]
kubernetes_sources: [{url: "http://127.0.0.1:4/metrics"}]
inventory: {file: devices.yaml}
otlp_receivers:
  - {job_name: a, listen: "127.0.0.1:4317", allow: [127.0.0.1], rules: [{source: cumulus}]}
  - {job_name: b, listen: "127.0.0.1:4318", allow: [127.0.0.1], rules: [{source: cumulus}]}
redfish_configs: [{job_name: bmc, targets: [{address: "10.0.0.1", device: node1}]}]
alerting: {receivers: [{type: webhook, name: pager, url: "http://127.0.0.1:1"}], heartbeat: {url: "http://127.0.0.1:3"}}
remote_write: [{url: "http://127.0.0.1:2/write"}]
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "",
            [
                "cluster cluster, bus embedded",
                "0 scrape jobs, 0 gNMI jobs, 0 job sources, no inventory: nothing is collected",
                "receivers: none",
                "links in pages: none: alerting.external_url is missing",
                "links to boards: none: alerting.grafana_url is missing",
                "heartbeat: none: nobody outside notices when paging stops",
                "remote write: nowhere",
            ],
        ),
        (
            SUMMARY,
            [
                "cluster pod1, bus embedded",
                "1 scrape job, 0 gNMI jobs, 1 job source, an inventory",
                "further sources: otlp_receivers (2), redfish_configs (1)",
                "receivers: pager",
                "links in pages: none: alerting.external_url is missing",
                "links to boards: none: alerting.grafana_url is missing",
                "heartbeat: sent",
                "remote write: http://127.0.0.1:2/write",
            ],
        ),
    ],
)
def test_the_summary_says_what_is_configured(tmp_path, text, lines):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert load_settings(path).summary() == lines


def test_every_wrong_value_is_reported_at_its_place(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("api:\n  port: high\n  hots: x\nbus: {kind: carrier pigeon}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    places = [line.removeprefix(f"{path}:").split(": ")[:2] for line in str(caught.value).splitlines()]
    assert sorted(places) == [["2:3", "api.port"], ["3:3", "api.hots"], ["4:7", "bus.kind"]]


def test_without_a_file_an_error_names_variable_and_key(monkeypatch):
    monkeypatch.setenv("FABRICSCOPE__API", "{port: high}")
    with pytest.raises(ConfigError, match=r"^environment FABRICSCOPE__API: api\.port: expected a whole number"):
        load_settings(None)


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Settings().api = None  # type: ignore[assignment,misc]
