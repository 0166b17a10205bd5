"""A server that speaks the protocol of NCCL's RAS, as old and new releases do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.samples import SAMPLES
from tests.unit.ingest.nccl_ras.test_nccl_ras_replies import in_text

JSON = (SAMPLES / "nccl" / "ras_status.json").read_bytes()
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Ras:
    """``rasClientEventLoop`` of NCCL: a line for each command, after an unknown one too; STATUS ends the connection.

    knows_monitor: as since 2.29. answers_monitors: whether it answers who listens; a process that was stopped does not.
    """

    def __init__(self) -> None:
        self.address = ""
        self.knows_json = self.knows_monitor = self.answers_monitors = True
        self.greeting = b"SERVER PROTOCOL 2\n"
        self.status: Answer | None = None
        self.commands: list[str] = []
        self.monitors: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        listens = False
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            if listens and not self.answers_monitors:
                continue
            if line.startswith("CLIENT PROTOCOL "):
                writer.write(self.greeting)
            elif line == "SET FORMAT json" and self.knows_json:
                writer.write(b"OK\n")
            elif line == "MONITOR lifecycle,trace" and self.knows_monitor:
                writer.write(b"OK\n")
                listens = True
                self.monitors.put_nowait(writer)
            elif line.endswith("STATUS"):
                if self.status is not None:
                    await self.status(writer)
                else:
                    writer.write(JSON if self.knows_json else in_text())
                break
            else:
                writer.write(f"ERROR: Unknown command {line}\n".encode())
        writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Ras]:
    served = Ras()
    listening = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield served
    listening.close()


async def refusing() -> str:
    """An address at which nobody listens."""
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    return f"127.0.0.1:{port}"
