"""Slurm's hostlists: ``node[1-4,7],oss1`` and all their forms."""

from common.errors import BadInput

HOSTS_MAX = 65_536
_DIGITS_MAX = 18


def expand(text: str) -> tuple[str, ...]:
    """The hosts that a hostlist names, in its order, zero padding kept. BadInput for anything else.

    >>> expand("node[1-3,07],oss1")
    ('node1', 'node2', 'node3', 'node07', 'oss1')
    >>> expand("r[1-2]n[1-2]")
    ('r1n1', 'r1n2', 'r2n1', 'r2n2')
    """
    hosts: list[str] = []
    for part in _split(text):
        found = [""]
        for fixed, ranges in _pieces(part):
            numbers = _numbers(ranges, text) if ranges is not None else [""]
            if len(found) * len(numbers) + len(hosts) > HOSTS_MAX:
                raise BadInput(f"hostlist {text[:80]!r}: more than {HOSTS_MAX} hosts", "too_large")
            found = [f"{prefix}{fixed}{number}" for prefix in found for number in numbers]
        hosts += found
    return tuple(hosts)


def indices(text: str) -> tuple[int, ...]:
    """The numbers of a range list.

    >>> indices("0,2-4")
    (0, 2, 3, 4)
    """
    return tuple(int(number) for number in _numbers(text, text))


def _split(text: str) -> list[str]:
    """At the commas that are outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise BadInput(f"hostlist {text[:80]!r}: brackets do not match", "bad_format")
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if depth:
        raise BadInput(f"hostlist {text[:80]!r}: brackets do not match", "bad_format")
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _pieces(part: str) -> list[tuple[str, str | None]]:
    """Fixed texts, each with the ranges in the brackets after it; None after the last text."""
    pieces: list[tuple[str, str | None]] = []
    while "[" in part:
        fixed, _, rest = part.partition("[")
        ranges, _, part = rest.partition("]")
        pieces.append((fixed, ranges))
    return [*pieces, (part, None)] if part or not pieces else pieces


def _numbers(ranges: str, whole: str) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise BadInput(f"hostlist {whole[:80]!r}: {part!r} is no range of numbers", "bad_format")
        if max(len(first), len(last)) > _DIGITS_MAX:
            raise BadInput(f"hostlist {whole[:80]!r}: a number of more than {_DIGITS_MAX} digits", "too_large")
        low, high = int(first), int(last or first)
        if len(numbers) + high - low >= HOSTS_MAX:
            raise BadInput(f"hostlist {whole[:80]!r}: more than {HOSTS_MAX} hosts", "too_large")
        numbers += [str(number).zfill(len(first)) for number in range(low, high + 1)]
    return numbers


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
