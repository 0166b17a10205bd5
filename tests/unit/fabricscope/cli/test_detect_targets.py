"""Where ``detect`` writes: a file, a folder with a file each, or standard output."""

from pathlib import Path

import pytest

from common.errors import BadInput
from fabricscope.commands.detect import _targets


@pytest.mark.parametrize(
    ("files", "output", "targets"),
    [
        (["a.csv"], "", {}),
        (["a.csv"], "b.csv", {"b.csv": ["a.csv"]}),
        (["a.csv", "c.csv"], "b.parquet", {"b.parquet": ["a.csv", "c.csv"]}),
        (["a.csv"], "b.txt", {"b.txt": ["a.csv"]}),
        (["x/a.csv", "y/b.parquet"], "out/", {"out/a.csv": ["x/a.csv"], "out/b.parquet": ["y/b.parquet"]}),
        (
            ["a.csv.gz", "b.log", "-"],
            "out/",
            {
                "out/a.csv": ["a.csv.gz"],
                "out/b.log.csv": ["b.log"],
                "out/standard-input.csv": ["-"],
            },
        ),
        (["a.csv"], "existing", {"existing/a.csv": ["a.csv"]}),
    ],
)
def test_targets(tmp_path, monkeypatch, files, output, targets):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "existing").mkdir()
    assert _targets(files, output) == {Path(name): sources for name, sources in targets.items()}


@pytest.mark.parametrize(
    ("files", "output", "message"),
    [
        (["a.csv"], "b", r"b: expected a name that ends in one of .*\.csv.*, or a folder"),
        (["a.csv"], "b.json", r"b\.json: expected a name"),
        (["x/a.csv", "y/a.csv"], "out/", r"y/a\.csv and x/a\.csv would both be out/a\.csv"),
        (["a.csv", "a.csv.gz"], "out/", r"a\.csv\.gz and a\.csv would both be out/a\.csv"),
    ],
)
def test_targets_that_are_refused(tmp_path, monkeypatch, files, output, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=message):
        _targets(files, output)
