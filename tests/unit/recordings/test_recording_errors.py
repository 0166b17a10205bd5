"""Recordings that are refused: every reason, with the file that is to blame."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from common.errors import BadInput
from recordings.format import SCHEMAS, write_table
from recordings.manifest import Manifest, durable_write, read_manifest, write_manifest
from tests.unit.recordings.small_recording import everything, write

Damage = Callable[[Path], object]


def edit(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Damages the manifest's JSON."""

    def apply(recording: Path) -> None:
        path = recording / "manifest.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return apply


def replace(file: str, **values: Any) -> Damage:
    """Other values in the first slice's entry of a file."""

    def change(document: dict[str, Any]) -> None:
        files = document["slices"][0]["files"]
        document["slices"][0]["files"] = [{**one, **values} if one["name"] == file else one for one in files]

    return edit(change)


def rewrite(frame: pl.DataFrame) -> Damage:
    """Another table in place of the samples, with a manifest that describes it."""

    def apply(recording: Path) -> None:
        written = write_table(recording / "000000", "samples.parquet", frame)
        replace("samples.parquet", **written.model_dump())(recording)

    return apply


def garbage(recording: Path) -> None:
    """Bytes that are no Parquet, with a manifest that describes them."""
    content = b"PAR1 and nothing more"
    (recording / "000000" / "samples.parquet").write_bytes(content)
    replace("samples.parquet", sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))(recording)


def of_another_table(recording: Path) -> None:
    """A batch whose table is in no file, with a manifest that describes it."""
    frame = pl.read_parquet(recording / "000000" / "batches.parquet").with_columns(table=pl.lit(b"nowhere"))
    written = write_table(recording / "000000", "batches.parquet", frame)
    replace("batches.parquet", **written.model_dump())(recording)


def link(path: str) -> Damage:
    """A symbolic link in place of a file or folder."""

    def apply(recording: Path) -> None:
        (recording / path).rename(recording / "elsewhere")
        (recording / path).symlink_to(recording / "elsewhere")

    return apply


def remove(path: str) -> Damage:
    return lambda recording: (recording / path).unlink()


SAMPLES = {"time_ns": [1, 2, 3], "series": [0, 1, 2], "value": [0.0, 1.5, 3.0]}
NO_VALUES = pl.DataFrame(SAMPLES, schema=SCHEMAS["samples.parquet"]).drop("value")


@pytest.mark.parametrize(
    ("damage", "reason", "message"),
    [
        (remove("manifest.json"), "no_manifest", r"manifest\.json: not a recording"),
        (lambda recording: (recording / "manifest.json").write_text("{"), "bad_manifest", r"manifest\.json: .*JSON"),
        (edit(lambda document: document.update(version=3)), "version", "version 3, this program reads 2"),
        (edit(lambda document: document.update(colour="red")), "bad_manifest", r"manifest\.json: Extra inputs"),
        (edit(lambda document: document["slices"][0].update(name="../x")), "bad_manifest", "not a plain folder name"),
        (link("000000"), "bad_manifest", "not a plain folder name"),
        (edit(lambda document: document["slices"][0].update(files=[])), "bad_manifest", "the manifest names no facts"),
        (link("000000/samples.parquet"), "bad_manifest", r"samples\.parquet: not a file that a recording may hold"),
        (replace("samples.parquet", bytes=2**30 + 1), "bad_manifest", "not a file that a recording may hold"),
        (replace("samples.parquet", rows=100_000_001), "bad_manifest", "not a file that a recording may hold"),
        (remove("000000/facts.parquet"), "missing_file", r"facts\.parquet: No such file"),
        (replace("tables.parquet", sha256="0" * 64), "checksum", r"tables\.parquet: its SHA-256 is .*manifest has 000"),
        (replace("samples.parquet", rows=4), "schema", r"samples\.parquet: its columns or rows"),
        (rewrite(pl.DataFrame(SAMPLES)), "schema", r"samples\.parquet: its columns or rows"),  # series as Int64
        (garbage, "schema", r"samples\.parquet: not Parquet"),
        (of_another_table, "schema", "000000: its tables do not fit together"),
        (rewrite(NO_VALUES), "schema", r"samples\.parquet: its columns or rows"),
    ],
)
def test_a_recording_that_is_not_what_was_written_is_refused(tmp_path, damage, reason, message):
    write(tmp_path)
    damage(tmp_path)
    with pytest.raises(BadInput, match=message) as caught:
        everything(tmp_path)
    assert caught.value.reason == reason
    assert str(caught.value).startswith(str(tmp_path))


def test_a_file_that_was_rewritten_with_its_manifest_is_accepted(tmp_path):
    """So the refusals above are not about the rewriting."""
    expected = write(tmp_path)
    rewrite(pl.read_parquet(tmp_path / "000000" / "samples.parquet"))(tmp_path)
    assert len(everything(tmp_path)) == len(expected)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_file_of_the_format_is_written_with_its_schema(tmp_path, name):
    write(tmp_path)
    assert pl.read_parquet(tmp_path / "000001" / name).schema == pl.Schema(SCHEMAS[name])


def test_an_entry_of_the_manifest_describes_its_file(tmp_path):
    write(tmp_path)
    for found in read_manifest(tmp_path).slices[0].files:
        path = tmp_path / "000000" / found.name
        assert (found.bytes, found.rows) == (path.stat().st_size, len(pl.read_parquet(path)))


def test_a_manifest_is_replaced_and_leaves_nothing_beside_it(tmp_path):
    for cluster in ("one", "two"):
        write_manifest(tmp_path, Manifest(cluster=cluster))
    assert read_manifest(tmp_path).cluster == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError("disk full")

    path = tmp_path / "file"
    durable_write(path, b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        durable_write(path, b"new")
    assert path.read_bytes() == b"old"
