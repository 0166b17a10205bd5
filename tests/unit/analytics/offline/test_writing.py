"""Small files with peculiarities: what comes out of each, and the error of those that cannot be read."""

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.offline.columns import Choice
from analytics.offline.writing import ScoredFiles, write, write_csv
from common.errors import BadInput


def detect(path: Path, *others: Path, choice: Choice | None = None, notes: list[str] | None = None) -> str:
    """What the command writes to standard output. notes: receives what it writes to standard error."""
    written = io.BytesIO()
    note = (lambda line: None) if notes is None else notes.append
    files = ScoredFiles(choice or Choice(), note, lambda share: None)
    write_csv(files.pieces([str(path), *map(str, others)], as_text=True), written)
    return written.getvalue().decode()


def rows_of(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "f.csv") -> Path:
        path: Path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


SCORED = ["score", "alert", "alert_start", "expected", "lower", "upper", "reason"]


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("time,value\n2024-01-01,1\n2024-01-02,2", ","),
        ("\ufefftime,value\n2024-01-01,1\n", ","),
        ("Zeit;Wert;Ort\n01.02.2024 10:00;1,5;'a,b'\n02.02.2024 10:00;2,5;c d\n", ";"),
        ("ts\tvalue\thost\n1700000000000\t1\ta\n1700000001000\t2\tb\n", "\t"),
        ("time,value,host\n2024-01-01T00:00:00Z,1, x \n2024-01-01T00:00:01.5Z,1,ü\n", ","),
        ("date,y\n20240101,1\n20240102,5\n", ","),
        ("timestamp,0,1\n1700000000,1,5\n1700000001,2,6\n", ","),
        ('time,value,note\n2024-01-01,1,"a\nb"\n2024-01-02,1,"say ""x"""\n', ","),
        ("time,value\n2024-01-02,1\n2024-01-02,1\n2024-01-01,1\n", ","),
        ("time,value,value_2,score\n2024-01-01,1.50,01,7\n", ","),
    ],
)
def test_rows_come_back_as_they_are(file, content, delimiter):
    back = rows_of(detect(file(content)), delimiter)
    given = rows_of(content.removeprefix("\ufeff"), delimiter)
    assert [row[: len(given[0])] for row in back] == given
    assert {len(row) for row in back} == {len(given[0]) + len(SCORED)}


def test_lines_end_and_empty_lines(file):
    out = rows_of(detect(file("time,value\r\n2024-01-01,1\r\n\r\n2024-01-02,2\r\n\r\n")))
    assert [row[:2] for row in out] == [["time", "value"], ["2024-01-01", "1"], ["2024-01-02", "2"]]


def test_a_file_without_a_header_gets_one(file):
    out = rows_of(detect(file("node1,1700000000,1.5\nnode2,1700000000,2.5\n")))
    assert out[0] == ["column_1", "column_2", "column_3", *SCORED]
    assert len(out) == 3


@pytest.mark.parametrize("gap", ["", "NaN", "null", "n/a", "broken", "inf", "-"])
def test_what_is_no_number_is_missing(file, gap):
    out = rows_of(detect(file(f"time,value\n2024-01-01,1\n2024-01-02,{gap}\n")))
    assert out[2] == ["2024-01-02", gap, "0.0", "0", "0", "", "", "", "missing"]


def test_parquet_of_texts_stays_so(tmp_path):
    given, back = tmp_path / "f.parquet", tmp_path / "g.parquet"
    frame = pl.DataFrame({"time": ["2024-01-01", "2024-01-02"], "value": ["1.50", "2"]})
    frame.write_parquet(given)
    write(ScoredFiles(Choice(), lambda line: None, lambda share: None).pieces([str(given)], as_text=False), back)
    assert pl.read_parquet(back).select(frame.columns).equals(frame)


def test_a_row_of_parquet_without_a_value_is_a_row(tmp_path):
    path = tmp_path / "f.parquet"
    pl.DataFrame({"value": [1.0, None, 3.0]}).write_parquet(path)
    assert [row[-1] for row in rows_of(detect(path))[1:]] == ["not enough history", "missing", "not enough history"]


def test_late_rows_are_counted(file):
    notes: list[str] = []
    detect(file("time,value\n2024-01-03,1\n2024-01-02,1\n2024-01-01,1\n"), notes=notes)
    assert "2 of them are not newer than others before, and were not learned from: sort them, or name" in notes[-1]


def test_lines_before_the_header_are_passed_over(file):
    influx = "#group,false\n#datatype,string\n,result,_time,_value,host\n,r,2024-01-01T00:00:00Z,1.5,h1\n"
    assert rows_of(detect(file(influx)))[0] == ["", "result", "_time", "_value", "host", *SCORED]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty: expected rows of a time and a value"),
        ("time,value\n", "no rows after the header"),
        ('time,value,disk\n1,5,b\n2,5,3.5" disk\n', "line 3 has a quote inside a cell"),
        ("value\n0,5\n", "line 2 has 2 columns: expected 1"),
        ("time,value\r2024-01-01,1\r", "lines end in CR alone"),
        ('{"time": 1, "value": 2}\n', "looks like JSON: expected CSV or Parquet"),
        (b"PK\x03\x04\x14\x00\x00", "is not of text: expected CSV or Parquet"),
        (gzip.compress(b"time,value\n" * 99, mtime=0)[:-9], "a gzip file that ends too soon"),
        ("time,value\n2024-01-01,1\nhello,2\n", "line 3 has the time 'hello': expected %Y-%m-%d"),
        ("time,value\n2024-01-01,1\n\n2024-01-02,1\n,2\n", "line 5 has no time: expected %Y-%m-%d"),
        ("time,value\n2024-01-01,1,5\n2024-01-02,1,5\n2024-01-03,1\n", "line 2 has 3 columns: expected 2"),
        (
            "time,value\n2024-01-01,1\n9999-12-31,2\n",
            "line 3 has the time '9999-12-31': expected a time from 1678",
        ),
        (
            "time,value\n9999-12-31,1\n2024-01-01,2\n",
            "line 2 has the time '9999-12-31': expected a time from 1800",
        ),
        ("time,value\n2300-01-01,1\n", "'time' holds '2300-01-01': expected times of the years 1800 to 2199"),
        ('time,"va\nlue"\n2024-01-01,"1\n"\n\nhello,2\n', "line 6 has the time 'hello'"),
        ("time,host\n2024-01-01,a\n", "no column of numbers among 'time', 'host'"),
        ("time,b\nx,1\n", "'time' holds 'x': expected times"),
        ("time,value\n03/04/2024,1\n03/04/2024,1\n", "is 03/04/2024 of the form"),
        (b"\xff\xfet\x00i", "damaged UTF-16"),
        (b"PAR1 and not more", "a damaged Parquet file"),
    ],
)
def test_what_cannot_be_read_is_named(file, content, message):
    path = file(content)
    with pytest.raises(BadInput) as error:
        detect(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "line", "times"),
    [
        ("time,value\n2024-01-01,1\n2024-01-02,1,5\n", "line 3 has 3 columns: expected 2, as in 'time,value'", [1]),
        ('time,"va\nlue"\n2024-01-01,"1\n"\n\n2024-01-02,2,5\n', "line 6 has 3 columns", [1]),
        ("time,value\r\n2024-01-01,1\r\n2024-01-02,1,5\r\n2024-01-03,4\r\n", "line 3 has 3 columns", [1, 3]),
        ('time,value\n2024-01-01,1\n2024-01-02,1,"a\nb"\n2024-01-03,4\n', "line 4 has 3 columns", [1, 3]),
        ("time value\n2024-01-01 1\n2024-01-02 1 5\n2024-01-03 1\n", "line 3 has 3 columns", [1, 3]),
        ("time,value\n2024-01-01,1\n2024-0", "line 3 ends within its time", [1]),
        ("date,clock,y\n2024-01-01,00:00,1\n2024-01-02,0", "line 3 ends within its time", [1]),
        ('time,value,note\n2024-01-01,1,a\n2024-01-02,1,"b', "line 3 ends inside a quote", [1]),
        ('time,value,note\n2024-01-01,1,ü\n2024-01-02,1,"ü'.encode()[:-1], "line 3 ends inside a quote", [1]),
    ],
)
def test_a_damaged_row_costs_that_row_alone(file, content, line, times):
    notes: list[str] = []
    rows = rows_of(detect(file(content), notes=notes).replace(" ", ","))[1:]
    assert [row[0] for row in rows] == [f"2024-01-0{day}" for day in times]
    assert any(f"f.csv: 1 row left out: {line}" in note for note in notes)


def test_many_damaged_rows_are_counted_and_the_first_is_named(file):
    rows = [f"2024-01-01 00:{row // 60:02}:{row % 60:02},1{',2' if row in (7, 50, 90) else ''}" for row in range(100)]
    notes: list[str] = []
    out = rows_of(detect(file("\n".join(["time,value", *rows])), notes=notes))
    assert len(out) == 98
    assert "f.csv: 3 rows left out, first: line 9 has 3 columns: expected 2, as in 'time,value'" in notes[-1]


def test_a_line_after_a_damaged_one_keeps_its_number(file):
    with pytest.raises(BadInput, match="line 4 has the time 'soon'"):
        detect(file("time,value\n2024-01-01,1\n2024-01-02,1,5\nsoon,1\n2024-01-03,1\n"))


def test_a_last_line_without_its_end_is_a_row(file):
    path = file("time,value\n2024-01-01,1\n2024-01-02,2")
    notes: list[str] = []
    assert len(rows_of(detect(path, notes=notes))) == 3
    assert not any("left out" in note for note in notes)


def test_a_character_that_is_cut_off_does_not_change_how_the_others_are_read(file):
    content = "time,value,place\n2024-01-01,1,Köln\n2024-01-02,2,Kö".encode()[:-1]
    assert [row[2] for row in rows_of(detect(file(content)))] == ["place", "Köln", "K"]


def test_times_of_a_zone(file):
    path = file("time,value\n2026-01-01 00:00 Europe/Berlin,1\n2026-07-01 00:00 Europe/Berlin,2\n")
    out = path.with_name("out.parquet")
    write(ScoredFiles(Choice(), print, print).pieces([str(path)], as_text=False), out)
    named = pl.read_parquet(out)["time"]
    assert named.dt.to_string("%Y-%m-%d %H:%M").to_list() == ["2025-12-31 23:00", "2026-06-30 22:00"]
    path.write_text(path.read_text().replace(" Europe/Berlin", ""))
    write(ScoredFiles(Choice(zone="Europe/Berlin"), print, print).pieces([str(path)], as_text=False), out)
    assert pl.read_parquet(out)["time"].equals(named)


def test_an_hour_that_clocks_show_twice_is_two_hours_of_each_series(file):
    clocks = [f"2026-10-25 0{hour}:{minute}0" for hour in (1, 2, 2, 3) for minute in (0, 3)]
    path = file("time,host,value\n" + "".join(f"{clock},{host},1\n" for clock in clocks for host in "ab"))
    notes: list[str] = []
    out = path.with_name("out.parquet")
    write(ScoredFiles(Choice(zone="Europe/Berlin"), notes.append, print).pieces([str(path)], as_text=False), out)
    minutes = pl.read_parquet(out).filter(pl.col("host") == "b")["time"].diff().drop_nulls().dt.total_minutes()
    assert minutes.to_list() == [30] * 7
    assert "8 of them have times that clocks show twice" in notes[-1]


def test_a_time_that_clocks_skip_is_named(file):
    path = file("time,value\n2026-03-29 01:59,1\n2026-03-29 02:30,1\n")
    with pytest.raises(BadInput, match="line 3 has the time '2026-03-29 02:30': expected a time that clocks in E"):
        detect(path, choice=Choice(zone="Europe/Berlin"))


def test_a_zone_that_there_is_not(file):
    with pytest.raises(BadInput, match="'Europe/Berlln': expected a time zone such as Europe/Berlin"):
        detect(file("time,value\n2026-03-29,1\n"), choice=Choice(zone="Europe/Berlln"))


@pytest.mark.parametrize("gap", ["NaN", "nan", "inf"])
def test_a_column_of_nan_is_a_column(file, gap):
    path = file("time,cpu,mem\n" + "".join(f"2024-01-0{day},{gap},{day % 3}\n" for day in range(1, 6)))
    wide = rows_of(detect(path, choice=Choice(wide=True)))
    assert wide[0][3:10] == [f"cpu_{name}" for name in SCORED]
    assert {row[wide[0].index("cpu_reason")] for row in wide[1:]} == {"missing"}
    notes: list[str] = []
    detect(path, notes=notes)
    assert "scored 'mem'; others are numeric too: 'cpu'" in notes[0]


@pytest.mark.parametrize("gap", ["NaN", ""])
def test_a_column_without_any_number_is_scored_where_there_is_no_other(file, gap):
    out = rows_of(detect(file(f"time,cpu\n2024-01-01,{gap}\n2024-01-02,{gap}\n")))
    assert [row[-1] for row in out] == ["reason", "missing", "missing"]


def test_the_first_alert_of_an_episode_is_its_start(file):
    values = np.random.default_rng(1).normal(100, 1, 600)
    values[[400, 403, 500]] += 60
    path = file("time,value\n" + "".join(f"{1_700_000_000 + 60 * at},{value}\n" for at, value in enumerate(values)))
    found = pl.read_csv(io.StringIO(detect(path)))
    alerts = found.with_row_index().filter(pl.col("alert") == 1)
    assert alerts["index"].to_list() == [400, 403, 500]
    assert alerts["alert_start"].to_list() == [1, 0, 1]
    assert found["alert_start"].sum() == 2


def test_a_column_that_is_not_there(file):
    with pytest.raises(BadInput, match="no column 'cpu': there are 'time', 'value'"):
        detect(file("time,value\n2024-01-01,1\n"), choice=Choice(values=("cpu",)))


def test_a_time_format_finds_its_column(file):
    path = file("Ort,Zeit,Wert\na,03/04/2024 10:00,1\na,03/04/2024 10:01,2\n")
    assert len(rows_of(detect(path, choice=Choice(pattern="%d/%m/%Y %H:%M")))) == 3
    with pytest.raises(BadInput, match="no column of times among"):
        detect(path, choice=Choice(pattern="%Y-%m-%d"))
    with pytest.raises(BadInput, match="'Zeit' holds '03/04/2024 10:00': expected %Y"):
        detect(path, choice=Choice(time="Zeit", pattern="%Y-%m-%d"))


def test_which_columns_are_scored(file):
    path = file("time,cpu,mem,host\n" + "".join(f"2024-01-{day:02},{day % 3},{-day},a\n" for day in range(1, 9)))
    notes: list[str] = []
    assert rows_of(detect(path, notes=notes))[0][4:] == SCORED
    assert "scored 'cpu'; others are numeric too: 'mem'" in notes[0]
    wide = rows_of(detect(path, choice=Choice(wide=True)))[0]
    of_columns = [f"{column}_{name}" for column in ("cpu", "mem") for name in SCORED]
    assert wide[4:] == [*of_columns, "row_score", "row_alert", "row_alert_start", "row_columns"]
    assert rows_of(detect(path, choice=Choice(values=("cpu", "mem"))))[0][4:] == of_columns


def test_a_wide_row_has_a_score_of_all_its_columns(file):
    values = np.random.default_rng(1).normal(100, 1, (600, 3))
    values[400] += [9, 0, 0]  # one column is off
    values[500] += [9, 9, 30]  # all are
    values[550, 2] = np.nan
    lines = [f"{1_700_000_000 + 60 * at},{a},{b},{c}" for at, (a, b, c) in enumerate(values)]
    text = detect(file("time,a,b,c,row_alert\n" + "".join(line + ",x\n" for line in lines)), choice=Choice(wide=True))
    found = pl.read_csv(io.StringIO(text), infer_schema_length=None)
    assert found.filter(pl.col("row_alert_2") == 1)["time"].to_list() == [1_700_000_000 + 60 * 500]
    assert found["a_alert"][400] == 1
    assert found["row_score"][400] < 1
    assert found["row_score"].null_count() == 0
    assert found["row_alert_start"].arg_max() == 500
    assert found["row_columns"][500].split(", ")[0] == "c"
    assert found["row_columns"].drop_nulls().len() == 1


def test_several_files_have_a_column_that_says_which(file):
    one, two = file("time,value\n2024-01-01,1\n", "one.csv"), file("time,value\n2024-01-02,1\n", "two.csv")
    assert [row[:2] for row in rows_of(detect(one, two))] == [
        ["file", "time"],
        [str(one), "2024-01-01"],
        [str(two), "2024-01-02"],
    ]
    with pytest.raises(BadInput, match=r"expected the same, or --output FOLDER/"):
        detect(one, file("time,value,host\n2024-01-01,1,a\n", "three.csv"))


def test_parquet_and_its_types(tmp_path):
    times = pl.Series("at", ["2024-01-01", "2024-01-02"] * 2).str.to_datetime(time_unit="ms", time_zone="Europe/Paris")
    frame = pl.DataFrame({"at": times, "gpu": ["a", "a", "b", "b"], "watts": [1, None] * 2, "flag": [True, False] * 2})
    frame = frame.with_columns(pl.col("gpu").cast(pl.Categorical))
    path = tmp_path / "f.parquet"
    frame.write_parquet(path)
    notes: list[str] = []
    out = rows_of(detect(path, notes=notes))
    assert [row[-1] for row in out[1:]] == ["not enough history", "missing"] * 2
    assert "2 series by gpu" in notes[-1]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00", exclude_categories=["Cs"]), max_size=8)


@given(
    st.lists(st.tuples(CELLS, st.one_of(st.floats().map(repr), CELLS)), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t"]),
)
@settings(max_examples=30, deadline=None)
def test_any_text_comes_back(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("any") / "f.csv"
    rows = [[f"2024-01-01T00:00:{place:02}", value, text] for place, (text, value) in enumerate(cells)]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["time", "value", "text"], *rows])
    out = rows_of(detect(path, choice=Choice(values=("value",))), delimiter)
    assert [row[:3] for row in out[1:]] == rows
    assert all(float(row[3].replace(",", ".")) >= 0.0 for row in out[1:])
