"""The systemd units, asked of systemd's own tools; no unit is started."""

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from fabricscope.exit_status import SUPERSEDED
from fabricscope.running.process import STOP_S
from fabricscope.running.supervisor import STOP_S as CHILD_STOP_S
from fabricscope.stages import Stage
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]
UNITS = ROOT / "deploy" / "systemd"
NAMES = ("fabricscope.service", "fabricscope@.service")
INSTALLED = "/opt/fabricscope/bin/fabricscope"
PROGRAM = Path(sys.executable).with_name("fabricscope")


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE_S)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A folder with both units and one of each stage; the program is where this checkout has it."""
    for name in NAMES:
        (tmp_path / name).write_text((UNITS / name).read_text().replace(INSTALLED, str(PROGRAM)))
    for stage in Stage:
        shutil.copy(tmp_path / NAMES[1], tmp_path / f"fabricscope@{stage}.service")
    return tmp_path


def lines(name: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", (UNITS / name).read_text(), re.MULTILINE)


def test_systemd_understands_the_units(units: Path) -> None:
    checked = analyze(
        "verify", "--man=no", units / NAMES[0], *(units / f"fabricscope@{stage}.service" for stage in Stage)
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_systemd_finds_a_wrong_key(units: Path) -> None:
    unit = units / NAMES[0]
    unit.write_text(unit.read_text().replace("ProtectHome=", "ProtectHomes="))
    assert "ProtectHomes" in analyze("verify", "--man=no", unit).stderr


@pytest.mark.parametrize("name", NAMES)
def test_exposure_is_what_the_guide_says(name: str) -> None:
    measured = analyze("security", "--offline=yes", UNITS / name)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", measured.stdout)
    assert found, measured.stderr
    assert f"exposure level of {found[1]}" in (ROOT / "docs" / "install.md").read_text()
    assert float(found[1]) < 2


@pytest.mark.parametrize("name", NAMES)
def test_the_unit_ends_and_restarts_as_the_program_does(name: str) -> None:
    assert lines(name, "RestartPreventExitStatus") == [str(SUPERSEDED)]
    least = CHILD_STOP_S if name == NAMES[0] else STOP_S
    (stop_s,) = lines(name, "TimeoutStopSec")
    assert int(stop_s) > least
    # A stage under `run` would get two signals, and the second ends it at once.
    assert lines(name, "KillMode") == (["mixed"] if name == NAMES[0] else [])


@pytest.mark.parametrize("name", NAMES)
def test_a_reload_checks_the_settings_first(name: str) -> None:
    (start,) = lines(name, "ExecStart")
    check, signal = lines(name, "ExecReload")
    file = start.rpartition("--config ")[2]
    assert check == f"{INSTALLED} check config {file}"
    assert signal == "/bin/kill -HUP $MAINPID"


def test_the_units_differ_in_what_they_run_and_how_it_ends_alone() -> None:
    read = []
    for name in NAMES:
        parser = ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read(UNITS / name)
        read.append(dict(parser["Service"]))
    one, other = read
    assert {key for key in one | other if one.get(key) != other.get(key)} == {
        *("ExecStart", "KillMode", "TimeoutStopSec", "OOMPolicy")
    }
