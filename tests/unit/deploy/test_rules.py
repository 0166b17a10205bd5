"""The Prometheus rules about Fabricscope itself, asked of Prometheus' own tools."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy" / "prometheus" / "rules" / "fabricscope.yml"
ALL: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
ALERTS = "fabricscope_alerts_"
WELL = {
    'up{job="fabricscope",instance="alerts"}': "1x60",
    "fabricscope_alerts_records_received_total": "1x60",
    "fabricscope_analytics_watermark_timestamp_seconds": "0+60x60",
    'fabricscope_ingest_spooled_seconds{instance="ingest"}': "0x60",
    ALERTS + 'notifications_queued{receiver="chat"}': "0x60",
    ALERTS + 'notifications_dropped_total{reason="never_notified"}': "0+1x60",
}
WRONG = {
    "FabricscopeStageDown": {'up{job="fabricscope",instance="alerts"}': "0x60"},
    "FabricscopeNotScraped": {'up{job="fabricscope",instance="alerts"}': "_x60"},
    "FabricscopeAlertsAbsent": {"fabricscope_alerts_records_received_total": "_x60"},
    "FabricscopeWatermarkStandsStill": {"fabricscope_analytics_watermark_timestamp_seconds": "0x60"},
    "FabricscopeDrops": {
        'fabricscope_ingest_samples_dropped_total{instance="ingest",reason="queue_full"}': "0+1x60",
        'fabricscope_ingest_records_dropped_total{instance="ingest",reason="queue_full"}': "0+1x60",
    },
    "FabricscopeSpoolFilling": {'fabricscope_ingest_spooled_seconds{instance="ingest"}': "0+60x60"},
    "FabricscopeSpoolNotWritable": {'fabricscope_ingest_spool_problems{instance="ingest"}': "1x60"},
    "FabricscopeNotificationsUndelivered": {
        ALERTS + 'notifications_queued{receiver="chat"}': "3x60",
        ALERTS + 'notification_retries_total{receiver="chat"}': "0+1x60",
    },
    "FabricscopeNotificationsDropped": {ALERTS + 'notifications_dropped_total{reason="expired"}': "0+1x60"},
    "FabricscopePublishFails": {
        'fabricscope_bus_publish_failures_total{instance="ingest",topic="t",reason="unavailable"}': "0+1x60"
    },
    "FabricscopeDiskFails": {'fabricscope_ingest_spool_failures_total{instance="ingest"}': "0+1x60"},
}


def firing(tmp_path: Path, series: dict[str, str]) -> set[str]:
    """The alerts that fire after half an hour, by promtool, which names those that were not expected."""
    expected = [{"eval_time": "30m", "alertname": rule["alert"], "exp_alerts": []} for rule in ALL]
    values = [{"series": name, "values": value} for name, value in series.items()]
    test = {"interval": "1m", "input_series": values, "alert_rule_test": expected}
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert ("SUCCESS" in output) != ("FAILED" in output), output
    return set(re.findall(r"alertname: (\w+), time", output))


def test_promtool_accepts_the_file():
    checked = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert f"SUCCESS: {len(ALL)} rules found" in checked.stdout, checked.stderr


def test_every_metric_is_one_of_ours():
    documented = (ROOT / "docs" / "own-metrics.md").read_text()
    asked = {name for rule in ALL for name in re.findall(r"fabricscope_\w+", rule["expr"])}
    assert {name for name in asked if f"`{name}`" not in documented} == set()


def test_nothing_fires_while_all_is_well(tmp_path):
    assert firing(tmp_path, WELL) == set()


def test_every_rule_has_a_case():
    assert set(WRONG) == {rule["alert"] for rule in ALL}


@pytest.mark.parametrize("name", WRONG)
def test_it_fires_alone_when_that_is_wrong(tmp_path, name):
    assert firing(tmp_path, WELL | WRONG[name]) == {name}
