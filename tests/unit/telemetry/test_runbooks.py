"""Every kind of incident has a runbook, and what it has people type exists."""

import doctest
import re
import subprocess
from itertools import chain
from pathlib import Path

import pytest
import yaml

from export.remote_write.state_series import FINDING
from fabricscope.own_metrics import own_metrics
from telemetry import objects, runbooks
from telemetry.catalogue import metrics
from telemetry.incidents import IncidentKind
from telemetry.runbooks import runbook

FOLDER = Path(runbooks.__file__).parent
SECTIONS = ["What it means", "Confirm", "First action", "How it ends", "Who to call", "Common false causes"]
QUERIES = re.compile(r"^```promql\n(.+?)\n```$", re.MULTILINE | re.DOTALL)
SELECTOR = re.compile(
    r"\b((?:fabric|gpu|node|nic|rdma|ib|storage|device|fabricscope|up|scrape)(?:_\w+)?)\b(\{[^}]*\})?"
)
OWN = {one.name: {*one.labels} for one in own_metrics()}
COLLECTION = {"up": {"device", "target"}, "scrape_duration_seconds": {"device", "target"}}
STATES = {FINDING: {"kind", "object", "device", "detector"}}


def queries(kind: IncidentKind) -> list[str]:
    return [line for block in QUERIES.findall(runbook(kind)) for line in block.splitlines()]


def test_each_kind_has_one_and_there_are_no_others():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(IncidentKind)


@pytest.mark.parametrize("kind", IncidentKind)
def test_it_is_short_and_answers_the_same_questions(kind):
    text = runbook(kind)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert 30 <= len(text.splitlines()) <= 60
    assert len(queries(kind)) >= 3
    assert not re.search(r"\{\w+\}", text), "a placeholder that nothing fills"
    prose = re.sub(r"```.+?```", "", text, flags=re.DOTALL)
    assert all(line.count("`") % 2 == 0 for line in prose.splitlines()), "a command on two lines"


@pytest.mark.parametrize("kind", IncidentKind)
def test_every_metric_and_label_that_it_names_exists(kind):
    known = {name: {*metric.labels} for name, metric in metrics().items()} | OWN | COLLECTION | STATES
    for query in queries(kind):
        asked = re.sub(r"\bby \([^)]*\)", "", query)
        found = SELECTOR.findall(re.sub(r'"[^"]*"', '""', asked))
        assert found, query
        for name, selector in found:
            assert name in known, f"{query}: no metric {name}"
            for label in re.findall(r"(\w+)\s*[=!]", selector):
                assert label in known[name], f"{query}: {name} has no label {label}"
        for label in chain.from_iterable(each.split(",") for each in re.findall(r"\bby \(([^)]*)\)", query)):
            assert all(label.strip() in known[name] for name, _ in found), f"{query}: no label {label}"


def test_prometheus_accepts_every_query(tmp_path):
    rules = [{"record": "x", "labels": {"n": str(n)}, "expr": query}
             for n, query in enumerate(query for kind in IncidentKind for query in queries(kind))]  # fmt: skip
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "runbooks", "rules": rules}]}))
    checked = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr + checked.stdout


@pytest.mark.parametrize(
    ("root", "line"),
    [
        (objects.port("leaf1", "Ethernet4"), 'fabric_port_up{device="leaf1",port="Ethernet4"}'),
        (
            objects.link(objects.port("spine1", "Ethernet8"), objects.port("leaf1", "Ethernet4")),
            'nic_up{device="spine1"} == 0',
        ),
        (objects.device("leaf1"), 'fabric_port_up{device="leaf1",port="<part>"}'),
        (None, 'fabric_port_up{device="<device>",port="<part>"}'),
    ],
)
def test_the_object_is_filled_in(root, line):
    assert line in queries(IncidentKind.LINK_DOWN) if root is None else line in runbook(IncidentKind.LINK_DOWN, root)


def test_of_a_gpu_its_host_and_uuid_are_filled_in():
    text = runbook(IncidentKind.GPU_FAULT, objects.gpu("node1", "GPU-5f3c"))
    assert "nvidia-smi --gpu-reset -i GPU-5f3c" in text
    assert "NodeName=node1 " in text


@pytest.mark.parametrize("name", ["$(reboot)", "a;reboot", "-rf", "`id`", "a b", "{part}", "leaf1\nreboot", "a|b", "é"])
def test_a_name_on_which_a_shell_would_act_is_left_out(name):
    text = runbook(IncidentKind.DEVICE_DOWN, objects.device(name))
    assert text == runbook(IncidentKind.DEVICE_DOWN)


def test_the_document_links_to_each():
    document = (Path(__file__).parents[3] / "docs" / "runbooks.md").read_text()
    linked = re.findall(r"\]\(\.\./telemetry/runbooks/(\w+)\.md\)", document)
    assert sorted(linked) == sorted(IncidentKind)


def test_the_example_is_true():
    assert doctest.testmod(runbooks).attempted > 0
    assert doctest.testmod(runbooks).failed == 0
