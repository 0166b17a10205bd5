"""One embedded log for the tests of its parts: written, read and cleaned without threads."""

from pathlib import Path

from bus.base import Message
from bus.embedded.log_reader import LogReader
from bus.embedded.log_writer import LogWriter
from telemetry.topics import Topic

S = 1_000_000_000


def keyed(*pairs: tuple[str, str | None]) -> list[Message]:
    """Messages of keys and values; None is a tombstone."""
    return [Message(key.encode(), None if value is None else value.encode()) for key, value in pairs]


def numbered(first: int, n: int, size: int = 1) -> list[Message]:
    """Messages of one key whose values are numbers, each ``size`` bytes long."""
    return [Message(b"k", str(i).rjust(size, "0").encode()) for i in range(first, first + n)]


class Log:
    """The file ``bus.sqlite`` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bus.sqlite"
        self.writer = LogWriter(self.path)
        self.reader = LogReader(self.path)
        self.db = self.writer.connection

    def append(self, topic: Topic, messages: list[Message], at_s: float = 0) -> None:
        self.writer.append([(topic, messages)], int(at_s * S))

    def rows(self, number: int = 1) -> list[tuple[int, int]]:
        """First and last offset of every row of a log, by its number in the order of its making."""
        return self.db.execute(f"SELECT first, last FROM log_{number} ORDER BY first").fetchall()

    def start(self, topic: Topic, partition: int = 0) -> int:
        """The offset of the first record that retention has left."""
        where = (topic.name, partition)
        (start,) = self.db.execute("SELECT start FROM logs WHERE topic = ? AND partition = ?", where).fetchone()
        return int(start)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()
