"""The Helm chart without a cluster: Helm's own lint and templates, validated by the code of the API server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fabricscope.api.access.guard import OPEN
from fabricscope.cli import app
from fabricscope.running.children import stages_of
from fabricscope.settings import Settings, load_settings
from fabricscope.stages import Stage
from ingest.collectors.inventory.parse import parse_inventory
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "fabricscope"
EXAMPLE = ROOT / "deploy" / "examples" / "helm-values.yaml"
BIN = ROOT / "build" / "bin"
KUBERNETES = "1.34.0"  # of tests/servers/kubernetes/go.mod
POD_IP = "10.244.0.7"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
WITHOUT_TLS = {
    "settings": {
        "bus": {"kind": "kafka", "kafka": {"bootstrap": ["kafka:9092"], "insecure": True}},
        "alerting": {"receivers": [{"name": "oncall", "type": "alertmanager", "url": "http://alertmanager:9093"}]},
    },
    "recordings": {"enabled": True, "existingClaim": "shared"},
    "serviceMonitor": {"enabled": True},
}
CLOSED_BUT_EMBEDDED = {
    "settings": {
        "api": {"token_for_reading": True, "recordings_dir": "/recordings"},
        "recording": {"path": "/recordings/pod1"},
        "bus": {"embedded": {"log_bytes_max": 17179869184}},
    },
    "secrets": {"targets": "exporters"},
    "stages": {"alerts": {"secrets": {"targets": "receivers"}}},
    "recordings": {"enabled": True},
    "networkPolicy": {"enabled": False},
    "podDisruptionBudget": {"enabled": False},
}
CASES = {
    "defaults": {},
    "example": yaml.safe_load(EXAMPLE.read_text()),
    "kafka without TLS": WITHOUT_TLS,
    "embedded with tokens": CLOSED_BUT_EMBEDDED,
}


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    subprocess.run([ROOT / "tests" / "servers" / "kubernetes" / "install.sh"], check=True, timeout=DEADLINE_S)


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BIN / "helm", *arguments], capture_output=True, text=True, check=False, timeout=DEADLINE_S)


def render(folder: Path, values: dict[str, Any]) -> str:
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm("template", "pod1", CHART, "--namespace", "gpu", "--values", file, "--kube-version", KUBERNETES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def complaints(text: str) -> str:
    """What the API server has against the manifests; nothing when it takes all of them."""
    done = subprocess.run([BIN / "kubernetes-check"], input=text, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.endswith(" checked")]
    assert (done.returncode == 0) == (not lines), done.stdout + done.stderr
    assert lines or done.stdout.count(" checked") == text.count("\nkind: "), "each manifest was looked at"
    return "\n".join(lines)


@pytest.fixture(params=CASES)
def manifests(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(render(tmp_path, CASES[request.param])))


def of_kind(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in manifests if one["kind"] == kind]


def pods(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in of_kind(manifests, "StatefulSet")]


def containers(manifests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for pod in pods(manifests) for one in pod["containers"]}


def text_of(manifests: list[dict[str, Any]], part: str) -> dict[str, str]:
    found: dict[str, Any]
    (found,) = (one for one in of_kind(manifests, "ConfigMap") if one["metadata"]["name"].endswith(f"-{part}"))
    data: dict[str, str] = found["data"]
    return data


def settings_of(manifests: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> Settings:
    """As the container of this stage reads them."""
    for one in containers(manifests)[stage].get("env") or ():
        if "value" in one:
            monkeypatch.setenv(one["name"], one["value"].replace("$(POD_IP)", POD_IP))
    file = folder / "fabricscope.yaml"
    file.write_text(text_of(manifests, "settings")["fabricscope.yaml"])
    checked = CliRunner().invoke(app, ["check", "config", str(file)])
    assert checked.exit_code == 0, checked.output + str(checked.exception)
    return load_settings(file)


@pytest.mark.parametrize("name", CASES)
def test_helm_lints_the_chart_and_the_api_server_takes_what_it_renders(tmp_path: Path, name: str) -> None:
    file = tmp_path / "lint.yaml"
    file.write_text(yaml.safe_dump(CASES[name]))
    linted = helm("lint", "--strict", CHART, "--values", file)
    assert linted.returncode == 0, linted.stdout
    assert complaints(render(tmp_path, CASES[name])) == ""


@pytest.mark.parametrize(
    ("wrong", "by", "found"),
    [
        ("readOnlyRootFilesystem", "readonlyRootFilesystem", "unknown field"),
        ("mountPath: /tmp", "mountPath: /data", "must be unique"),
        ("name: tmp\n", "name: temporary\n", "Not found"),
        ("maxUnavailable: 1", "maxUnavailable: -1", "must be greater than or equal to 0"),
        ("jobLabel:", "joblabel:", "unknown field"),
    ],
)
def test_the_api_server_finds_what_is_wrong(tmp_path: Path, wrong: str, by: str, found: str) -> None:
    text = render(tmp_path, CASES["example"])
    assert wrong in text
    assert found in complaints(text.replace(wrong, by))


@pytest.mark.parametrize(
    "values",
    [
        {"networkpolicy": {}},
        {"stages": {"alert": {}}},
        {"settings": {"bus": {"kind": "rabbit"}}},
        {"files": {"inventory.yaml": {"devices": []}}},
        {"recordings": {"storage": "much"}},
    ],
)
def test_the_schema_refuses(tmp_path: Path, values: dict[str, Any]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm("template", "pod1", CHART, "--values", file, "--kube-version", KUBERNETES)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr


def test_the_schema_knows_each_value_and_the_guide_explains_it() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    assert set(schema) - {"global"} == set(VALUES)
    guide = (ROOT / "docs" / "install.md").read_text()
    assert {name for name in VALUES if f"`{name}`" not in guide} == set()


def test_the_stages_of_the_settings_run_and_no_others(manifests, tmp_path, monkeypatch) -> None:
    settings = settings_of(manifests, tmp_path, monkeypatch, "ingest")
    names = [stage.value for stage in stages_of(settings)]
    assert sorted(containers(manifests)) == sorted(names)
    assert len(pods(manifests)) == (len(names) if settings.bus.kind == "kafka" else 1)
    assert all(one["spec"]["replicas"] == 1 for one in of_kind(manifests, "StatefulSet"))


@pytest.mark.parametrize("stage", [stage.value for stage in Stage])
def test_each_stage_accepts_its_settings_and_listens_where_it_is_asked(tmp_path, monkeypatch, stage: str) -> None:
    manifests = list(yaml.safe_load_all(render(tmp_path, CASES["example"])))
    settings = settings_of(manifests, tmp_path, monkeypatch, stage)
    container = containers(manifests)[stage]
    port = settings.api.port if stage == "api" else getattr(settings.general.metrics_ports, stage)
    assert [one["containerPort"] for one in container["ports"]] == [port]
    (service,) = (one for one in of_kind(manifests, "Service") if one["metadata"]["name"].endswith(f"-{stage}"))
    assert [(one["port"], one["targetPort"]) for one in service["spec"]["ports"]] == [(port, stage)]
    assert settings.bus.kafka.username == stage
    assert settings.general.metrics_host == settings.api.host == "0.0.0.0"


def test_the_api_answers_the_kubelet_prometheus_and_its_service(manifests, tmp_path, monkeypatch) -> None:
    """Both ask for the pod by its address, and other Host headers get a 400."""
    hosts = settings_of(manifests, tmp_path, monkeypatch, "api").api.allowed_hosts
    assert {POD_IP, "localhost", "pod1-fabricscope-api", "pod1-fabricscope-api.gpu.svc"} <= set(hosts)


def test_probes_ask_what_needs_no_token(manifests, tmp_path, monkeypatch) -> None:
    settings = settings_of(manifests, tmp_path, monkeypatch, "api")
    for name, container in containers(manifests).items():
        scheme = "HTTPS" if name == "api" and settings.api.tls_cert_file else "HTTP"
        for probe, path in (("startup", "/-/healthy"), ("liveness", "/-/healthy"), ("readiness", "/-/ready")):
            assert path in OPEN
            asked = container[f"{probe}Probe"]["httpGet"]
            assert asked == {"path": path, "port": name, "scheme": scheme}


def test_a_container_has_no_more_rights_than_it_needs(manifests) -> None:
    for pod in pods(manifests):
        context = pod["securityContext"]
        assert context["runAsNonRoot"] is True
        assert f"USER {context['runAsUser']}" in (ROOT / "Dockerfile").read_text()
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"requests", "limits"} <= container["resources"].keys()


def test_memory_is_that_of_the_containers_of_compose() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for stage in Stage:
        memory = VALUES["stages"][stage.value]["resources"]["limits"]["memory"]
        assert memory.removesuffix("i").lower() == services[stage.value]["mem_limit"], stage


def test_a_stage_sees_its_own_secrets_alone(tmp_path: Path) -> None:
    manifests = list(yaml.safe_load_all(render(tmp_path, CLOSED_BUT_EMBEDDED | {"settings": WITHOUT_TLS["settings"]})))
    used = {}
    for pod in pods(manifests):
        volumes = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
        for container in pod["containers"]:
            mounts = {one["mountPath"]: volumes.get(one["name"]) for one in container["volumeMounts"]}
            used[container["name"]] = mounts["/run/secrets/targets"]
    assert used == {"ingest": "exporters", "analytics": "exporters", "alerts": "receivers", "api": "exporters"}


def test_recordings_are_written_by_the_recorder_and_read_by_the_api(tmp_path: Path) -> None:
    manifests = list(yaml.safe_load_all(render(tmp_path, CASES["example"])))
    mounted = {
        name: [one["readOnly"] for one in container["volumeMounts"] if one["mountPath"] == "/recordings"]
        for name, container in containers(manifests).items()
    }
    assert {name: found for name, found in mounted.items() if found} == {"recorder": [False], "api": [True]}
    (claim,) = of_kind(manifests, "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert of_kind(list(yaml.safe_load_all(render(tmp_path, WITHOUT_TLS))), "PersistentVolumeClaim") == []


def test_files_are_what_the_settings_name(tmp_path, monkeypatch) -> None:
    manifests = list(yaml.safe_load_all(render(tmp_path, CASES["example"])))
    settings = settings_of(manifests, tmp_path, monkeypatch, "ingest")
    files = text_of(manifests, "files")
    (job,) = settings.ingest.scrape_configs
    assert settings.ingest.inventory is not None
    named = {settings.ingest.inventory.file, *map(Path, job.file_sd_configs[0].files)}
    assert named == {Path("/etc/fabricscope/files") / name for name in files}
    assert len(parse_inventory(files["inventory.yaml"], "inventory.yaml")) == 8


def test_the_rules_and_boards_are_those_of_deploy(tmp_path: Path) -> None:
    manifests = list(yaml.safe_load_all(render(tmp_path, CASES["example"])))
    (rule,) = of_kind(manifests, "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules" / "fabricscope.yml").read_text())
    boards = {
        name: json.loads(text)
        for one in of_kind(manifests, "ConfigMap")
        for name, text in one["data"].items()
        if one["metadata"]["labels"].get("grafana_dashboard") == "1"
    }
    folder = ROOT / "deploy" / "grafana" / "dashboards"
    assert boards == {file.name: json.loads(file.read_text()) for file in folder.glob("*.json")}


def test_a_packaged_chart_holds_the_files_that_it_links_to(tmp_path: Path) -> None:
    done = helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    rendered = helm(
        *("template", "pod1", package, "--set", "prometheusRule.enabled=true", "--kube-version", KUBERNETES)
    )
    assert "FabricscopeStageDown" in rendered.stdout, rendered.stderr


def test_versions_are_those_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (ROOT / "pyproject.toml").read_text()
    assert f"k8s.io/kubernetes v{KUBERNETES}\n" in (ROOT / "tests" / "servers" / "kubernetes" / "go.mod").read_text()
