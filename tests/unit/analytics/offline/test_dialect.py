"""How a CSV file is written: found in its first lines, each case by hand."""

import pytest

from analytics.offline.dialect import Dialect, dialect
from common.errors import BadInput


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"time,value\n1,2\n", Dialect(",", ("time", "value"), 11, 1)),
        (b"time;value\n1;2,5\n", Dialect(";", ("time", "value"), 11, 1)),
        (b"time\tvalue\n1\t2,5\n", Dialect("\t", ("time", "value"), 11, 1)),
        (b"time|value\n1|2\n", Dialect("|", ("time", "value"), 11, 1)),
        (b"time value\n1 2\n", Dialect(" ", ("time", "value"), 11, 1)),
        (b"time,value\r\n1,2\r\n", Dialect(",", ("time", "value"), 12, 1)),
        (b"time,note\n2024-01-01 10:00,a b\n", Dialect(",", ("time", "note"), 10, 1)),
        (b"a,b\n1,2\n3\n", Dialect(",", ("a", "b"), 4, 1)),  # not all rows are as long
        (b"value\n1\n", Dialect(",", ("value",), 6, 1)),
        (b"1704067200,2\n", Dialect(",", ("column_1", "column_2"), 0, 0)),
        (b"2024-01-01,a\n", Dialect(",", ("column_1", "column_2"), 0, 0)),
        (b"time,0,1\n1,2,3\n", Dialect(",", ("time", "0", "1"), 9, 1)),
        (b"a,a,a\n1,2,3\n", Dialect(",", ("a", "a_2", "a_3"), 6, 1)),
        (b'"a\nb",c\n1,2\n', Dialect(",", ("a\nb", "c"), 8, 2)),
        (b"\xef\xbb\xbfa,b\n1,2\n", Dialect(",", ("a", "b"), 7, 1)),
        (b"\xef\xbb\xbf# x\n\r\na,b\n1,2\n", Dialect(",", ("a", "b"), 13, 3)),
        (b"sep=|\na|b\n1,5|2\n", Dialect("|", ("a", "b"), 10, 2)),
        (b"Report of May\n\na,b\n1,2\n", Dialect(",", ("a", "b"), 19, 3)),
        (b"a;b\n1,5;2\n1;2;3\n2,5;4\n", Dialect(";", ("a", "b"), 4, 1)),  # one row is too wide
        (b"at,b\n1 2,3\n1 2,3,4\n1 2\n1 2,3\n", Dialect(",", ("at", "b"), 5, 1)),
    ],
)
def test_what_is_found(block, expected):
    assert dialect(block) == expected


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"a\0b", "binary"),
        (b'[{"a": 1}]', "csv"),
        (b"<html>", "csv"),
        (b"a,b\r1,2\r", "csv"),
    ],
)
def test_what_is_no_csv(block, reason):
    with pytest.raises(BadInput) as error:
        dialect(block)
    assert error.value.reason == reason
