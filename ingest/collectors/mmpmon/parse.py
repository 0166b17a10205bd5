"""From what ``mmpmon -p`` prints to counters of each node and file system. Pure.

A line is an answer: the request, then pairs of a keyword and a value. Keywords: IBM Storage Scale, *Monitoring I/O
performance with the mmpmon command*, fs_io_s and io_s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.errors import BadInput
from ingest.collectors.canonical_samples import Values
from telemetry.objects import NAME_CHARS_MAX

COUNTERS = ("_br_", "_bw_", "_oc_", "_cc_", "_rdc_", "_wc_", "_dir_", "_iu_")
"""Bytes read and written, then operations: open, close, read, write, readdir, inode update."""
_REQUESTS = ("_fs_io_s_", "_io_s_")
_NO_FILE_SYSTEM = "-"  # with _rc_ 1: the node has mounted none
_DIGITS_MAX = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one node. fs: '' where it is about all of its file systems together. counters: by keyword; none where the node
    has mounted nothing."""

    node: str
    fs: str
    counters: Mapping[str, float]


def parse_answers(text: bytes) -> tuple[list[Answer], int]:
    """The answers, and how many lines are none. BadInput where no line is one."""
    found: list[Answer] = []
    malformed = 0
    for line in filter(str.strip, text.decode(errors="replace").splitlines()):
        try:
            found.append(_answer(line.split()))
        except (BadInput, KeyError, ValueError):
            malformed += 1
    if not found:
        raise BadInput(f"expected answers as of mmpmon -p, found {text[:80]!r}", "bad_format")
    return found, malformed


def values_of(answers: Sequence[Answer], device: str, hosts: Mapping[str, str]) -> Values:
    """Each node's file systems. What io_s says of a node is their sum: it is read only where nothing else is there.

    device: the only node. Of several each has the name that ``hosts`` gives it, or its own.
    """
    nodes = {answer.node for answer in answers}
    devices = {node: hosts.get(node, node) if len(nodes) > 1 else device for node in sorted(nodes)}
    with_file_systems = {answer.node for answer in answers if answer.fs}
    values = Values()
    for named in devices.values():
        values.add("answers", 1.0, node=named)
    for answer in answers:
        if answer.fs or answer.node not in with_file_systems:
            labels = {"node": devices[answer.node], "fs": answer.fs}
            for keyword, number in answer.counters.items():
                values.add(keyword.strip("_"), number, **labels)
    return values


def _answer(words: Sequence[str]) -> Answer:
    """BadInput, KeyError or ValueError where it is none."""
    request, *rest = words
    said = dict(zip(rest[::2], rest[1::2], strict=True))
    node, fs = said["_nn_"], said.get("_fs_", "")
    if request not in _REQUESTS or bool(fs) != (request == "_fs_io_s_") or max(len(node), len(fs)) > NAME_CHARS_MAX:
        raise BadInput(f"{request[:80]}: expected an answer to fs_io_s or io_s", "bad_format")
    if fs == _NO_FILE_SYSTEM:
        return Answer(node, "", {})
    if said["_rc_"] != "0":
        raise BadInput(f"_rc_ {said['_rc_'][:20]}", "bad_format")
    return Answer(node, fs, {keyword: _number(said[keyword]) for keyword in COUNTERS})


def _number(text: str) -> float:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX):
        raise BadInput("expected a counter", "bad_format")
    return float(text)
