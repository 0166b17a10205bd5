"""Where the embedded bus may have its file."""

from pathlib import Path

import pytest

from bus.config import BusConfig, EmbeddedConfig
from bus.embedded.log_writer import LogWriter
from bus.open import require_place
from common.errors import ConfigError


def at(path: Path) -> BusConfig:
    return BusConfig(embedded=EmbeddedConfig(path=path))


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    require_place(at(tmp_path / "a" / "b" / "bus.sqlite"))
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("begun", [True, False])
def test_a_file_of_the_bus_is_taken(tmp_path: Path, begun: bool) -> None:
    """Also one that another stage has just begun."""
    path = tmp_path / "bus.sqlite"
    if begun:
        LogWriter(path).close()
    else:
        path.touch()
    before = path.read_bytes()
    require_place(at(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("file/bus.sqlite", "Not a directory|File exists"),
        ("folder", "Is a directory"),
        ("file", "is another kind of file, and left alone"),
    ],
)
def test_a_place_of_no_use_is_named_with_the_reason(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "file").write_text("notes of another program\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=rf"^bus\.embedded\.path: {tmp_path}/{path}: ({reason})$"):
        require_place(at(tmp_path / path))


@pytest.mark.parametrize("is_there", [True, False])
def test_without_the_rights_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """What the system answers to another user than root, which may run the tests."""
    path = tmp_path / "bus.sqlite"
    if is_there:
        path.touch()
    monkeypatch.setattr("os.access", lambda _path, _rights: False)
    with pytest.raises(ConfigError, match=f"{path}: may not be read and written"):
        require_place(at(path))
