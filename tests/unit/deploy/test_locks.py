"""The lock files: what an image installs, and what a checkout installs besides."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock")


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+) \\$", (ROOT / name).read_text(), re.MULTILINE))


def wanted(*specifiers: str) -> set[str]:
    names = (re.match(r"[\w.-]+", specifier) for specifier in specifiers)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in names if name}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_pins_and_hashes_and_no_address(name: str) -> None:
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    other = [line for line in lines if line and not line.startswith("#")]
    assert [line for line in other if not re.match(r"[\w.-]+==\S+ \\$|--hash=sha256:[0-9a-f]{64}( \\)?$", line)] == []


def test_an_image_has_what_runs_and_builds_and_nothing_of_the_tests() -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = document["project"]
    extras = project["optional-dependencies"]
    runs, tests = wanted(*project["dependencies"], *extras["snmp"], *extras["nvml"]), wanted(*extras["dev"])
    builds = wanted(*document["build-system"]["requires"])
    image, checkout = pins("requirements.lock"), pins("requirements-dev.lock")
    assert runs | builds <= image.keys()
    assert runs | builds | tests <= checkout.keys()
    assert not {"pytest", "mypy", "playwright", "schemathesis"} & image.keys()
    assert image.items() <= checkout.items()
    assert "--require-hashes -r requirements.lock" in (ROOT / "Dockerfile").read_text()
