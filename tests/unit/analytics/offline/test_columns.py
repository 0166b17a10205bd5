"""Files of data sets and of programs, as they are found: what is read as time, value and series."""

import gzip

import pytest

from analytics.offline.columns import Choice
from analytics.offline.score import ScoredRows, TableScorer
from analytics.offline.tables import open_table

DAY = 1_704_067_200  # 2024-01-01 UTC
CLOCKS = ["10:00:00", "10:00:30", "10:01:00"]
TENS = [DAY + 36_000, DAY + 36_030, DAY + 36_060]


def read(path, content: str | bytes, choice: Choice | None = None) -> tuple[TableScorer, ScoredRows]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_table(str(path), 1000) as table:
        scorer = TableScorer(table, choice or Choice())
        return scorer, next(scorer.scored())


def lines(header: str, *rows: str) -> str:
    return "\n".join((header, *rows)) + "\n"


@pytest.mark.parametrize(
    ("content", "times_s", "values"),
    [
        (
            "timestamp,value\n2024-01-01 10:00:00,1.5\n2024-01-01 10:00:30,2.5\n2024-01-01 10:01:00,3\n",
            TENS,
            [1.5, 2.5, 3],
        ),
        ("timestamp,value,is_anomaly\n1,5,0\n2,6,0\n3,5,1\n", [1, 2, 3], [5, 6, 5]),
        ("timestamps,value,anomaly,changepoint\n1,5,0,0\n2,6,0,0\n3,5,1,0\n", [1, 2, 3], [5, 6, 5]),
        ("Data,Label\n5.5,0\n6,0\n5,1\n", [1, 2, 3], [5.5, 6, 5]),
        ("value\n5\n6\n7\n", [1, 2, 3], [5, 6, 7]),
        ("5.5\n6\n7\n", [1, 2, 3], [5.5, 6, 7]),
        ("0.1,0.7\n0.2,0.3\n0.1,0.4\n", [1, 2, 3], [0.1, 0.2, 0.1]),
        (",cpu\n0,5\n1,6\n2,5\n", [1, 2, 3], [5, 6, 5]),
        ("No,year,month,PM\n1,2010,1,9\n2,2010,1,8\n3,2010,1,9\n", [1, 2, 3], [9, 8, 9]),
        ("Month,Riders\n1949-01,9\n1949-02,8\n1949-03,9\n", [1, 2, 3], [9, 8, 9]),
        ("Date,Close\n1969-12-31,9\n1970-01-01,8\n1970-01-02,9\n", [-86_400, 0, 86_400], [9, 8, 9]),
        (
            'sep=;\n"Time";"node1"\n2024-01-01 10:00:00;5\n2024-01-01 10:00:30;6\n2024-01-01 10:01:00;5\n',
            TENS,
            [5, 6, 5],
        ),
        ("Report\n\ntime,cpu\n1704103200,5\n1704103230,6\n1704103260,5\n", TENS, [5, 6, 5]),
        ("time value\n1704103200 5\n1704103230 6\n1704103260 5\n", TENS, [5, 6, 5]),
        (lines("Date;Time;CO;;", *(f"01/01/2024;{at.replace(':', '.')};1,5;;" for at in CLOCKS)), TENS, [1.5] * 3),
        (
            lines("Date,Time,CO", *(f"13/01/2024,{at},1.5" for at in CLOCKS)),
            [at + 12 * 86_400 for at in TENS],
            [1.5] * 3,
        ),
        ("time,value\n2024-01-01,1.50\n2024-01-02,2.50\n", [DAY, DAY + 86_400], [1.5, 2.5]),
        (
            "timestamp, index, utilization.gpu [%], power.draw [W]\n2024/01/01 10:00:00.000, 0, 45 %, 61.20 W\n",
            TENS[:1],
            [45],
        ),
        ("time,score\n1704103200,7\n", TENS[:1], [7]),
        ("time,up\n1704103200,true\n1704103230,false\n", TENS[:2], [1, 0]),
        ("time,up,value\n1704103200,true,4\n1704103230,false,5\n", TENS[:2], [4, 5]),
        ("time,value\n1704103200,1\n".encode("utf-16"), TENS[:1], [1]),
        (
            gzip.compress(b"time,value\n1704103200,1\n", mtime=0) + gzip.compress(b"1704103230,2\n", mtime=0),
            TENS[:2],
            [1, 2],
        ),
        ("Zeit;Temperatur \u00b0C\n01.01.2024 10:00;1,5\n".encode("cp1252"), TENS[:1], [1.5]),
        ("time,value,note\n1704103200,1\n1704103230,2,b\n", TENS[:2], [1, 2]),
        ("\n\ntime,value\n\n1704103200,1\n\n1704103230,2\n", TENS[:2], [1, 2]),
    ],
)
def test_one_series(tmp_path, content, times_s, values):
    _, rows = read(tmp_path / "f.csv", content)
    assert (rows.times_ns // 10**9).tolist() == times_s
    assert next(iter(rows.values.values())).tolist() == values
    assert set(rows.series.tolist()) == {0}


@pytest.mark.parametrize(
    ("header", "rows", "names"),
    [
        ("timestamp,value,label,KPI ID", ("1,5,0,a", "1,6,0,b", "2,5,0,a", "2,6,0,b"), [("a",), ("b",)]),
        ("unique_id,ds,y", ("H1,1,5", "H1,2,6", "H2,1,5", "H2,2,6"), [("H1",), ("H2",)]),
        ("time,gpu,temperature", ("1,0,50", "1,1,60", "2,0,51", "2,1,60"), [("0",), ("1",)]),
        ("time,host,gpu,value", ("1,a,0,5", "1,a,1,6", "2,a,0,5", "2,a,1,6"), [("a", "0"), ("a", "1")]),
        ("time,cpu,mem", ("1,50,7", "1,51,7", "2,50,8", "2,55,8"), [()]),
        ("time,request,value", ("1,a,5", "2,b,6", "2,c,6", "3,d,5"), [()]),
        (" Timestamp, FIT,Normal/Attack", ("1,5,Normal", "2,6,Normal", "3,6,Attack"), [()]),
    ],
)
def test_many_series(tmp_path, header, rows, names):
    scorer, _ = read(tmp_path / "f.csv", lines(header, *rows))
    assert scorer.series.names == names


def test_fractions_may_begin_after_the_first_rows(tmp_path):
    content = "time;value\n" + "".join(f"{row};0\n" for row in range(1, 1001)) + "1001;1,5\n"
    assert read(tmp_path / "f.csv", content)[1].values["value"][-1] == 1.5
