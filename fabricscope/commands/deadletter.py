"""Dead letters: what was put aside, in words, and the originals back onto their topics."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from bus.base import Bus, Gap
from bus.deadletter import DeadLetter, read_letter
from bus.owner.publishing import without_owner
from common.errors import BadInput, Unavailable
from common.printing import printable
from common.units import NS_PER_S
from fabricscope.commands.audited import audited_command
from fabricscope.commands.running_bus import running_bus
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.codec.check import check_record

SHOWN_BYTES, SHOWN_HEADER_BYTES = 4096, 200
_ANSWER_S = 30.0
_LINE = "{:>8} {:>5} {:>9}  {:<12} {:<26} {:>9} {:>10}"
_AGES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def print_letters(config_file: Path | None) -> None:
    """One line each, as they are read: there may be many."""
    print(_LINE.format("number", "age", "bytes", "reason", "topic", "partition", "offset"))
    asyncio.run(_print_letters(config_file))


async def _print_letters(config_file: Path | None) -> None:
    async with running_bus(load_settings(config_file).bus) as bus:
        async for letter in _letters(bus, 0):
            reason, topic = _escaped(letter.reason), _escaped(letter.topic)
            age = describe_age(time.time_ns() - letter.at_ns)
            print(_LINE.format(letter.number, age, letter.size_bytes, reason, topic, letter.partition, letter.offset))


def print_letter(config_file: Path | None, number: int) -> None:
    """BadInput when there is none with this number."""
    print("\n".join(describe_letter(asyncio.run(_letter(config_file, number)))))


async def _letter(config_file: Path | None, number: int) -> DeadLetter:
    async with running_bus(load_settings(config_file).bus) as bus:
        return await _numbered(bus, number)


def replay_letters(config_file: Path | None, numbers: Sequence[int], ask: Callable[[str], bool] | None) -> bool:
    """Publishes the originals; whether all of them could be. ask: None to go on without."""
    return asyncio.run(_replay(config_file, list(dict.fromkeys(numbers)), ask))


async def _replay(config_file: Path | None, numbers: Sequence[int], ask: Callable[[str], bool] | None) -> bool:
    settings = load_settings(config_file)
    replayed = 0
    async with running_bus(settings.bus) as bus:
        for number in numbers:
            letter = await _numbered(bus, number)
            try:
                topic = topic_to_replay(letter)
            except BadInput as error:
                print(printable(f"{number}: left out: {error}"))
                continue
            question = f"{number}: publish {letter.size_bytes} bytes again to {topic.name}?"
            if ask is not None and not await asyncio.to_thread(ask, question):
                continue
            with audited_command(settings.api.state_dir, "deadletter replay", audited(letter)):
                await bus.publish(topic, [without_owner(letter.original)])
            replayed += 1
            print(f"{number}: published to {topic.name}")
    return replayed == len(numbers)


def audited(letter: DeadLetter) -> dict[str, str]:
    """What the audit log says of it."""
    return {"letter": str(letter.number), "was_at": letter.place, "reason": letter.reason}


def topic_to_replay(letter: DeadLetter) -> topics.Topic:
    """Where the original belongs. BadInput when it is not whole, or could not be decoded there."""
    if letter.cut:
        raise BadInput(f"it was too large to be put aside as a whole: {', '.join(letter.cut)} cut", "cut")
    topic = next((each for each in topics.ALL if each.name == letter.topic), None)
    if topic is None:
        raise BadInput(f"{_escaped(letter.topic)}: expected one of the topics of Fabricscope", "topic")
    check_record(topic, letter.original.value, letter.original.headers)
    return topic


def describe_letter(letter: DeadLetter) -> list[str]:
    """Lines of text without control characters, whatever the record holds."""
    original = letter.original
    value = original.value
    lines = [
        f"dead letter {letter.number}, {describe_age(time.time_ns() - letter.at_ns)} old",
        f"was at: {_escaped(letter.place)}",
        f"reason: {_escaped(letter.reason)}: {_escaped(letter.detail)}",
        f"cut: {', '.join(map(_escaped, letter.cut)) or 'nothing'}",
        f"key: {_view(original.key, SHOWN_HEADER_BYTES)}",
        *(f"header {_escaped(name)}: {_view(data, SHOWN_HEADER_BYTES)}" for name, data in original.headers.items()),
    ]
    if value is None:
        return [*lines, "no value: a tombstone"]
    return [*lines, f"value of {letter.size_bytes} bytes:", _view(value, SHOWN_BYTES)]


def describe_age(age_ns: int) -> str:
    """
    >>> describe_age(59 * 10**9), describe_age(26 * 3600 * 10**9), describe_age(-5)
    ('59s', '1d', '0s')
    """
    seconds = max(0, age_ns // NS_PER_S)
    return next((f"{seconds // size}{unit}" for size, unit in _AGES if seconds >= size), "0s")


def _view(data: bytes, bytes_max: int) -> str:
    more = f" … and {len(data) - bytes_max} bytes more" if len(data) > bytes_max else ""
    return repr(data[:bytes_max])[2:-1] + more


def _escaped(text: str) -> str:
    return ascii(text)[1:-1]


async def _numbered(bus: Bus, number: int) -> DeadLetter:
    async for letter in _letters(bus, number):
        if letter.number == number:
            return letter
        break
    raise BadInput(f"no dead letter {number}: `fabricscope deadletter list` prints those that are there", "number")


async def _letters(bus: Bus, first: int) -> AsyncIterator[DeadLetter]:
    """From number ``first`` to the newest. Unavailable when the bus does not answer."""
    reader = bus.consume([topics.DEADLETTER], {(topics.DEADLETTER.name, 0): first})
    due_s = time.monotonic() + _ANSWER_S
    try:
        while not await reader.at_end():
            try:
                records = await reader.poll(wait_s=0.2)
            except Gap:  # retention has taken some
                continue
            for record in records:
                due_s = time.monotonic() + _ANSWER_S
                yield read_letter(record)
            if time.monotonic() > due_s:
                raise Unavailable(f"no dead letters after {_ANSWER_S:g} s: {bus.problem() or 'the bus is slow'}")
    finally:
        await reader.stop()
