"""Alerts about Fabricscope itself and recorded series, asked of Prometheus' own tools."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dashboards.alert_rules import WATCHDOG
from dashboards.expressions import metrics_named, unknown_metrics
from dashboards.rules import RECORDS, write_rules

ROOT = Path(__file__).parents[3]
DEPLOYED = ROOT / "deploy" / "prometheus" / "rules"
RULES, RECORDED = DEPLOYED / "fabricscope.yml", DEPLOYED / "fabricscope-records.yml"
ALL: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
ALERTS = "fabricscope_alerts_"
AT = "90m"  # the slowest waits for an hour
WELL = {
    'up{job="fabricscope",instance="alerts"}': "1x100",
    "fabricscope_alerts_records_received_total": "1x100",
    "fabricscope_analytics_watermark_timestamp_seconds": "0+60x100",
    'fabricscope_ingest_spooled_seconds{instance="ingest"}': "0x100",
    ALERTS + 'notifications_queued{receiver="chat"}': "0x100",
    ALERTS + 'notifications_dropped_total{reason="never_notified"}': "0+1x100",
    'fabricscope_ingest_samples_received_total{instance="ingest"}': "0+1000x100",
    'fabricscope_ingest_collections_total{instance="ingest",outcome="up"}': "0+100x100",
    'fabricscope_ingest_collections_total{instance="ingest",outcome="timeout"}': "0+1x100",
    'fabricscope_ingest_collections_skipped_total{instance="ingest",reason="running"}': "0+90x100",
    'fabricscope_ingest_collections_skipped_total{instance="ingest",reason="cpu"}': "0+2x100",
    'up{cluster="pod1",device="leaf1",target="gnmi/leaf1"}': "1x100",
    'fabricscope_bus_catch_up_seconds{stage="analytics"}': "0x100",
    'fabricscope_export_lag_seconds{instance="export"}': "3x100",
    'fabricscope_config_last_reload_successful{instance="ingest"}': "1x100",
    'fabricscope_api_certificate_expiry_timestamp_seconds{instance="api"}': "0x100",  # without TLS
    'fabricscope_ingest_certificate_expiry_timestamp_seconds{instance="ingest",target="a"}': "9000000x100",
}
WRONG = {
    "FabricscopeStageDown": {'up{job="fabricscope",instance="alerts"}': "0x100"},
    "FabricscopeNotScraped": {'up{job="fabricscope",instance="alerts"}': "_x100"},
    "FabricscopeAlertsAbsent": {"fabricscope_alerts_records_received_total": "_x100"},
    "FabricscopeWatermarkStandsStill": {"fabricscope_analytics_watermark_timestamp_seconds": "0x100"},
    "FabricscopeDrops": {
        'fabricscope_ingest_samples_dropped_total{instance="ingest",reason="queue_full"}': "0+1x100",
        'fabricscope_ingest_records_dropped_total{instance="ingest",reason="queue_full"}': "0+1x100",
    },
    "FabricscopeNoSamples": {'fabricscope_ingest_samples_received_total{instance="ingest"}': "1000x100"},
    "FabricscopeCollectionsFail": {
        'fabricscope_ingest_collections_total{instance="ingest",outcome="timeout"}': "0+50x100"
    },
    "FabricscopeCollectionsLeftOut": {
        'fabricscope_ingest_collections_skipped_total{instance="ingest",reason="cpu"}': "0+20x100"
    },
    "FabricscopeTargetsSilent": {'up{cluster="pod1",device="leaf1",target="gnmi/leaf1"}': "0x100"},
    "FabricscopeStageBehind": {'fabricscope_bus_catch_up_seconds{stage="analytics"}': "3600x100"},
    "FabricscopeExportLate": {'fabricscope_export_lag_seconds{instance="export"}': "0+60x100"},
    "FabricscopeHeartbeatsFail": {ALERTS + 'heartbeats_total{outcome="failed"}': "0+1x100"},
    "FabricscopeDetectorFails": {'fabricscope_analytics_detector_failures_total{detector="d"}': "0+1x100"},
    "FabricscopeSettingsRefused": {'fabricscope_config_last_reload_successful{instance="ingest"}': "0x100"},
    "FabricscopeCertificateExpires": {
        'fabricscope_ingest_certificate_expiry_timestamp_seconds{instance="ingest",target="a"}': "86400x100"
    },
    "FabricscopeSpoolFilling": {'fabricscope_ingest_spooled_seconds{instance="ingest"}': "0+60x100"},
    "FabricscopeSpoolNotWritable": {'fabricscope_ingest_spool_problems{instance="ingest"}': "1x100"},
    "FabricscopeNotificationsUndelivered": {
        ALERTS + 'notifications_queued{receiver="chat"}': "3x100",
        ALERTS + 'notification_retries_total{receiver="chat"}': "0+1x100",
    },
    "FabricscopeNotificationsDropped": {ALERTS + 'notifications_dropped_total{reason="expired"}': "0+1x100"},
    "FabricscopePublishFails": {
        'fabricscope_bus_publish_failures_total{instance="ingest",topic="t",reason="unavailable"}': "0+1x100"
    },
    "FabricscopeDiskFails": {'fabricscope_ingest_spool_failures_total{instance="ingest"}': "0+1x100"},
}


def firing(tmp_path: Path, series: dict[str, str]) -> set[str]:
    """The alerts that fire at that time, by promtool, which names those that were not expected."""
    expected = [{"eval_time": AT, "alertname": rule["alert"], "exp_alerts": []} for rule in ALL]
    values = [{"series": name, "values": value} for name, value in series.items()]
    test = {"interval": "1m", "input_series": values, "alert_rule_test": expected}
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert ("SUCCESS" in output) != ("FAILED" in output), output
    return set(re.findall(r"alertname: (\w+), time", output))


@pytest.mark.parametrize(("file", "rules"), [(RULES, len(ALL)), (RECORDED, len(RECORDS))])
def test_promtool_accepts_the_file(file, rules):
    checked = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)
    assert f"SUCCESS: {rules} rules found" in checked.stdout, checked.stderr


def test_the_deployed_files_are_the_generated_ones(tmp_path):
    for path in write_rules(tmp_path):
        assert (DEPLOYED / path.name).read_text() == path.read_text(), "run: make boards"
    prometheus = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    assert prometheus["rule_files"] == ["rules/*.yml"]


def test_every_metric_is_one_of_ours():
    documented = (ROOT / "docs" / "own-metrics.md").read_text()
    asked = {name for rule in ALL for name in metrics_named(rule["expr"]) if name.startswith("fabricscope_")}
    assert {name for name in asked if f"`{name}`" not in documented} == set()
    assert [name for rule in RECORDS for name in unknown_metrics(rule.expr)] == []


def test_recorded_series_are_called_by_level_metric_and_operation():
    names = [rule.record for rule in RECORDS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"(cluster|rack|device|job):[a-z_]+:[a-z0-9]+", name) for name in names)


def test_nothing_fires_while_all_is_well(tmp_path):
    """But the watchdog, which always does."""
    assert firing(tmp_path, WELL) == {WATCHDOG}


def test_every_rule_has_a_case():
    assert {*WRONG, WATCHDOG} == {rule["alert"] for rule in ALL}


@pytest.mark.parametrize("name", WRONG)
def test_it_fires_alone_when_that_is_wrong(tmp_path, name):
    assert firing(tmp_path, WELL | WRONG[name]) == {name, WATCHDOG}


RECORDED_OF = {
    "cluster:up:avg": 'cluster:up:avg{cluster="a"} 0.5',
    "cluster:fabric_port_up:avg": 'cluster:fabric_port_up:avg{cluster="a"} 0.5',
    "rack:gpu_power_watts:sum": 'rack:gpu_power_watts:sum{cluster="a",rack="r1"} 1000',
    "job:gpu_tensor_active_ratio:avg": 'job:gpu_tensor_active_ratio:avg{cluster="a",job_id="7"} 0.4',
}
CLUSTER = {
    'up{cluster="a",device="n1",target="t1"}': "1x20",
    'up{cluster="a",device="n2",target="t2"}': "0x20",
    'up{job="another"}': "1x20",
    'fabric_port_up{cluster="a",device="leaf1",port="up"}': "1x20",
    'fabric_port_up{cluster="a",device="leaf1",port="down"}': "1x5 0x15",
    'fabric_port_up{cluster="a",device="leaf1",port="spare"}': "0x20",
    'gpu_power_watts{cluster="a",rack="r1",device="n1",gpu="0"}': "400x20",
    'gpu_power_watts{cluster="a",rack="r1",device="n1",gpu="1"}': "600x20",
    'gpu_tensor_active_ratio{cluster="a",device="n1",gpu="0"}': "0.4x20",
    'gpu_tensor_active_ratio{cluster="a",device="n2",gpu="0"}': "0.9x20",
    'fabricscope_job_node{cluster="a",job_id="7",device="n1"}': "1x20",
}


@pytest.mark.parametrize("name", RECORDED_OF)
def test_what_is_recorded(tmp_path, name):
    """Neither what Prometheus scrapes itself nor a port without a cable counts."""
    labels, value = RECORDED_OF[name].rsplit(" ", 1)
    asked = {"expr": name, "eval_time": "15m", "exp_samples": [{"labels": labels, "value": float(value)}]}
    series = [{"series": series, "values": values} for series, values in CLUSTER.items()]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [asked]}
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RECORDED)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
