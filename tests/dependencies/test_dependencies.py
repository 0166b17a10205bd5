"""What the product is installed with: known, allowed, and not older than vulnerabilities that are known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from tests.dependencies import ALLOWED, ROOT, licences, packages, pins, render

FLOORS = {
    "fastapi": "0.109.1",  # CVE-2024-24762
    "grpcio": "1.65.4",  # CVE-2024-7246
    "h11": "0.16.0",  # CVE-2025-43859
    "httpx": "0.20.0",
    "joblib": "1.2.0",  # CVE-2022-21797
    "orjson": "3.9.15",  # CVE-2024-27454
    "protobuf": "6.33.5",  # CVE-2026-0994
    "pyarrow": "23.0.1",  # CVE-2026-25087, CVE-2023-47248
    "python-multipart": "0.0.27",  # CVE-2026-42561
    "scikit-learn": "1.5.0",  # CVE-2024-5206
    "starlette": "1.3.1",  # CVE-2026-48710, CVE-2026-54282
}
"""Releases before these have a hole that is reachable from outside."""


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_nothing_is_older_than_a_known_hole(lock: str) -> None:
    pinned = pins(lock)
    old = {
        name: pinned[name] for name in FLOORS.keys() & pinned.keys() if Version(pinned[name]) < Version(FLOORS[name])
    }
    assert old == {}


def test_every_licence_is_allowed() -> None:
    assert {one.name: one.licence for one in packages() if not licences(one.licence) <= ALLOWED} == {}


def test_the_committed_page_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "dependencies.md").read_text() == render(packages())


def test_the_list_of_components_is_what_is_locked(tmp_path: Path) -> None:
    (target,) = (line for line in (ROOT / "Makefile").read_text().splitlines() if "-m cyclonedx_py" in line)
    arguments = target.partition("-m cyclonedx_py ")[2].replace("build/sbom.json", str(tmp_path / "sbom.json")).split()
    # which checks what it writes by the schema
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *arguments], cwd=ROOT, check=True, capture_output=True)
    document = json.loads((tmp_path / "sbom.json").read_text())
    assert {one["name"]: one["version"] for one in document["components"]} == pins("requirements.lock")
    assert all(one["externalReferences"][0]["hashes"] for one in document["components"])
