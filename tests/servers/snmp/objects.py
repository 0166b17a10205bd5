"""What snmpd runs beside itself (``pass_persist`` of snmpd.conf): answers with the objects of a file, as it is now.

A line of the file is an OID, a type of snmpd's and a value: ``.1.3.6.1.2.1.1.5.0 string leaf1``. Python imports nothing
else here: several of these start with each agent.
"""

import os
import sys
from bisect import bisect_right

Oid = tuple[int, ...]


class Objects:
    """The file's content, read again when another file is there."""

    def __init__(self, file: str) -> None:
        self._file, self._seen = file, (0, 0)
        self._lines: dict[Oid, list[str]] = {}
        self._oids: list[Oid] = []

    def answer(self, command: str, oid: Oid) -> str:
        self._read()
        if command == "getnext":
            place = bisect_right(self._oids, oid)
            oid = self._oids[place] if place < len(self._oids) else ()
        return "\n".join(self._lines.get(oid, ["NONE"])) + "\n"

    def _read(self) -> None:
        state = os.stat(self._file)
        if (state.st_ino, state.st_mtime_ns) == self._seen:
            return
        self._seen = (state.st_ino, state.st_mtime_ns)
        with open(self._file) as file:
            self._lines = {numbers(line.split()[0]): line.rstrip("\n").split(" ", 2) for line in file}
        self._oids = sorted(self._lines)


def numbers(oid: str) -> Oid:
    return tuple(map(int, oid.strip().strip(".").split(".")))


def main() -> None:
    objects = Objects(sys.argv[1])
    for line in iter(sys.stdin.readline, ""):
        command = line.strip().lower()
        if command == "ping":
            reply = "PONG\n"
        elif command in ("get", "getnext"):
            reply = objects.answer(command, numbers(sys.stdin.readline()))
        else:
            break
        sys.stdout.write(reply)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
