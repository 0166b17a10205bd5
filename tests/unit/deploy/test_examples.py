"""The example that runs as it stands: its devices are those of the simulator, and its inventory is right about them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from common.documents.bounded_yaml import parse_bounded
from fabricscope.cli import app
from fabricscope.settings import Settings, load_settings
from ingest.collectors.exposition.config import StaticConfig
from ingest.collectors.exposition.discovery import TargetGroup, parse_groups
from ingest.collectors.inventory.parse import parse_inventory
from simulator.config import SimulatorConfig
from simulator.servers.config import ServeConfig
from simulator.servers.settings import collection, inventory_document
from simulator.wiring import build_layout
from telemetry.topology import Gpu

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "deploy" / "examples" / "fabricscope.yaml"
SERVED = ServeConfig(cluster=SimulatorConfig(hosts=8, interval_s=10))


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Read where it says that it is run."""
    monkeypatch.chdir(ROOT)
    return load_settings(EXAMPLE.relative_to(ROOT))


def scraped(settings: Settings) -> set[tuple[str, str, str]]:
    """Source, address and device of each target that is scraped."""
    found = set()
    for job in settings.ingest.scrape_configs:
        files = [Path(file) for config in job.file_sd_configs for file in config.files]
        groups = [group for file in files for group in parse_groups(parse_bounded(file.read_bytes(), str(file)), "")]
        every: list[StaticConfig | TargetGroup] = [*job.static_configs, *groups]
        for group in every:
            found |= {(job.source, address, group.labels["device"]) for address in group.targets}
    return found


def streamed(settings: Settings) -> set[tuple[str, str, str]]:
    return {(job.source.value, one.address, one.device) for job in settings.ingest.gnmi_configs for one in job.targets}


def test_its_targets_are_served_by_the_simulator(settings: Settings) -> None:
    document: dict[str, Any] = collection(SERVED, build_layout(SERVED.cluster), Path("x"))
    served = Settings.model_validate(document)
    assert scraped(settings) <= scraped(served)
    assert {source for source, _, _ in scraped(settings)} == {source for source, _, _ in scraped(served)}
    assert streamed(settings) == streamed(served)
    assert [job.url for job in settings.ingest.job_sources] == [job.url for job in served.ingest.job_sources]


def test_its_inventory_is_right_about_them(settings: Settings) -> None:
    assert settings.ingest.inventory is not None
    found = parse_inventory(settings.ingest.inventory.file.read_text(), "inventory.yaml")
    truth = parse_inventory(yaml.safe_dump(inventory_document(build_layout(SERVED.cluster))), "truth")
    assert found == {key: truth[key] for key in found}
    assert {type(each) for each in truth.values()} - {type(each) for each in found.values()} == {Gpu}, "of exporters"


def test_check_config_takes_it(settings: Settings) -> None:
    checked = CliRunner().invoke(app, ["check", "config", str(EXAMPLE)])
    assert checked.exit_code == 0, checked.output
    assert "3 scrape jobs, 2 gNMI jobs, 1 job source, an inventory" in checked.output


def test_what_is_commented_out_is_right_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = EXAMPLE.read_text()
    head, rest = text.split("# With an Alertmanager", 1)
    lines = [line.removeprefix("# ") for line in rest.splitlines()[1:]]
    (tmp_path / "all.yaml").write_text(head + "\n".join(lines))
    settings = load_settings(tmp_path / "all.yaml")
    assert settings.alerting.receivers
    assert settings.remote_write
