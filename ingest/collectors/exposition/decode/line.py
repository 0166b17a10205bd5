"""The exact parsing of one line of the Prometheus text format or OpenMetrics: slow, pure, linear in the line's length.

Source: the exposition formats of Prometheus (text 0.0.4, with the quoted UTF-8 names of 1.0.0) and OpenMetrics 1.0.
"""

import re
from dataclasses import dataclass

from common.errors import BadInput

LINE_BYTES_MAX = 64 * 1024
LABEL_BYTES_MAX = 8 * 1024

_BLANK = re.compile(rb"[ \t]*+")
_NAME = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*+")
_LABEL_NAME = re.compile(rb"[a-zA-Z_][a-zA-Z0-9_]*+")
_QUOTED = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_USUAL = re.compile(rb'[ \t]*+([a-zA-Z_][a-zA-Z0-9_]*+)="([^"\\\x80-\xff]{1,512}+)"([,}])')
"""The usual spelling of a label; what does not match is parsed step by step."""
_TOKEN = re.compile(rb"[^ \t]++")
_WHOLE = re.compile(rb"[+-]?[0-9]++")
_TAIL = re.compile(rb"[ \t]*+([^ \t]++)(?:[ \t]++([^ \t#][^ \t]*+))?+(?:[ \t]++(#.*+)?+)?+")
_ESCAPE = re.compile(r'\\([\\"n])')


@dataclass(frozen=True, slots=True)
class Line:
    """One sample as written. Spans are byte offsets in the line.

    name_end: where name and labels end; what is before it names the series in every body of the target.
    time_at:  None without a timestamp.
    rest_at:  where value and timestamp end: an exemplar or blanks may follow.
    """

    name: str
    labels: dict[str, str]
    name_end: int
    value_at: tuple[int, int]
    time_at: tuple[int, int] | None
    rest_at: int


def parse_line(line: bytes, number: int, *, openmetrics: bool) -> Line | None:
    """The sample of a line without its line feed; None for comments and blank lines.

    number: for messages, counted from 1. Raises BadInput (reason ``bad_format`` or ``too_large``), naming line and
    column, and nothing else.
    """
    at = _blanks(line, 0)
    if at == len(line) or line[at] == 0x23:
        return None
    if len(line) > LINE_BYTES_MAX:
        raise BadInput(f"line {number}: {len(line)} bytes, at most {LINE_BYTES_MAX}", "too_large")
    return _LineParser(line, number).sample(at, openmetrics)


def parse_number(token: bytes) -> float:
    """A value as the format writes it; ValueError for anything else (Python's own underscores included)."""
    if b"_" in token or token != token.strip():
        raise ValueError(token)
    return float(token)


def parse_tail(tail: bytes, *, openmetrics: bool) -> list[float]:
    """The numbers behind a name: a value, or a value and a timestamp. ValueError for what ``parse_line`` refuses."""
    if b" " not in tail and b"\t" not in tail:
        return [parse_number(tail)]
    match = _TAIL.fullmatch(tail)
    if match is None:
        raise ValueError(tail)
    value, time, exemplar = match.groups()
    if exemplar is not None and not (openmetrics and is_exemplar(exemplar)):
        raise ValueError(tail)
    if time is None:
        return [parse_number(value)]
    if not openmetrics and not is_whole(time):
        raise ValueError(tail)
    return [parse_number(value), parse_number(time)]


def is_whole(token: bytes) -> bool:
    """Whether it is a timestamp of the text format: milliseconds without a fraction."""
    return _WHOLE.fullmatch(token) is not None


def is_exemplar(text: bytes) -> bool:
    """Whether it is what OpenMetrics allows behind a sample: ``# {labels} value [timestamp]``."""
    try:
        _LineParser(text, 0).exemplar(0, openmetrics=True)
    except BadInput:
        return False
    return True


def _blanks(line: bytes, at: int) -> int:
    match = _BLANK.match(line, at)
    assert match is not None
    return match.end()


class _LineParser:
    def __init__(self, line: bytes, number: int) -> None:
        self._line, self._number = line, number

    def sample(self, at: int, openmetrics: bool) -> Line:
        line = self._line
        name, labels = "", dict[str, str]()
        match = _NAME.match(line, at)
        if match is not None:
            name, at = match[0].decode(), match.end()
        name_end = at
        brace = _blanks(line, at)
        if line[brace : brace + 1] == b"{":
            name, at = self._labels(brace + 1, name, labels)
            name_end = at
        elif name and brace == at < len(line):
            raise self._expected(at, "a blank or '{' behind the name")
        if not name:
            raise self._expected(at, "a metric name")
        value_at = self._token(at, "a value")
        self._check_number(value_at, "a value such as 1.5, NaN or +Inf")
        at = _blanks(line, value_at[1])
        time_at = None
        if at < len(line) and line[at] != 0x23:
            time_at = self._token(at, "a timestamp")
            self._check_time(time_at, openmetrics)
            at = _blanks(line, time_at[1])
        if at < len(line):
            self.exemplar(at, openmetrics=openmetrics)
        if "" in labels.values():  # an empty label is the same as none
            labels = {label: value for label, value in labels.items() if value}
        return Line(name, labels, name_end, value_at, time_at, (time_at or value_at)[1])

    def _labels(self, at: int, name: str, labels: dict[str, str]) -> tuple[str, int]:
        """Reads up to the closing brace into ``labels``; a quoted text without a value is the metric's name."""
        line = self._line
        while True:
            usual = _USUAL.match(line, at)
            if usual is not None and (label := usual[1].decode()) not in labels and label != "__name__":
                labels[label] = usual[2].decode()
                at = usual.end()
                if usual[3] == b"}":
                    return name, at
                continue
            at = _blanks(line, at)
            if line[at : at + 1] == b"}":
                return name, at + 1
            start = at
            quoted = line[at : at + 1] == b'"'
            label, at = self._quoted(at) if quoted else self._label_name(at)
            at = _blanks(line, at)
            if line[at : at + 1] == b"=":
                value, at = self._quoted(_blanks(line, at + 1))
                if label == "__name__":
                    raise self._expected(start, "no label __name__, which is the metric's name")
                if label in labels:
                    raise self._expected(start, f"label {label[:80]!r} only once")
                labels[label] = value
            elif quoted and not name:
                name = label
            else:
                raise self._expected(at, "'='")
            at = _blanks(line, at)
            if line[at : at + 1] == b",":
                at += 1
            elif line[at : at + 1] != b"}":
                raise self._expected(at, "',' or '}'")

    def _label_name(self, at: int) -> tuple[str, int]:
        match = _LABEL_NAME.match(self._line, at)
        if match is None:
            raise self._expected(at, "a label name")
        return match[0].decode(), match.end()

    def _quoted(self, at: int) -> tuple[str, int]:
        match = _QUOTED.match(self._line, at)
        if match is None:
            raise self._expected(at, "a text in double quotes")
        if len(match[1]) > LABEL_BYTES_MAX:
            raise BadInput(
                f"line {self._number}: label of {len(match[1])} bytes, at most {LABEL_BYTES_MAX}", "too_large"
            )
        try:
            text = match[1].decode()
        except UnicodeDecodeError as error:
            raise self._expected(at + 1 + error.start, "UTF-8") from None
        if "\\" in text:
            text = _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], text)
        return text, match.end()

    def _token(self, at: int, what: str) -> tuple[int, int]:
        match = _TOKEN.match(self._line, _blanks(self._line, at))
        if match is None:
            raise self._expected(len(self._line), what)
        return match.span()

    def _check_number(self, span: tuple[int, int], what: str) -> None:
        try:
            parse_number(self._line[span[0] : span[1]])
        except ValueError:
            raise self._expected(span[0], what) from None

    def _check_time(self, span: tuple[int, int], openmetrics: bool) -> None:
        if openmetrics:
            self._check_number(span, "a timestamp in seconds")
        elif not is_whole(self._line[span[0] : span[1]]):
            raise self._expected(span[0], "a timestamp in milliseconds")

    def exemplar(self, at: int, *, openmetrics: bool) -> None:
        line = self._line
        if not openmetrics or line[at : at + 1] != b"#":
            raise self._expected(at, "the end of the line")
        at = _blanks(line, at + 1)
        if line[at : at + 1] != b"{":
            raise self._expected(at, "'{' of an exemplar")
        _, at = self._labels(at + 1, "exemplar", {})
        span = self._token(at, "an exemplar's value")
        self._check_number(span, "an exemplar's value")
        at = _blanks(line, span[1])
        if at < len(line):
            span = self._token(at, "an exemplar's timestamp")
            self._check_number(span, "an exemplar's timestamp")
            if _blanks(line, span[1]) < len(line):
                raise self._expected(span[1], "the end of the line")

    def _expected(self, at: int, what: str) -> BadInput:
        found = self._line[at : at + 20]
        shown = repr(found.decode(errors="replace")) if found else "the end of the line"
        return BadInput(f"line {self._number}, column {at + 1}: expected {what}, found {shown}", "bad_format")
