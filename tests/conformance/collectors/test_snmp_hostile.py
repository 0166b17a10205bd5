"""What an SNMP agent, or somebody on the way to it, can do to the collector: nothing but be down, with a reason."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ingest.collectors.snmp.collector import SnmpCollector
from ingest.ledger import Ledger
from telemetry.samples import DownReason
from tests.conformance.collectors.snmp_agent import (
    IFX,
    NOW_NS,
    Damage,
    Wire,
    collector,
    interfaces,
    of_port,
    sensor,
    served,
    values,
)
from tests.servers.snmpd import COMMUNITY, Snmpd

MakeWire = Callable[..., Wire]


def whole(answer: bytes) -> list[bytes]:
    return [answer]


@pytest.fixture
async def wire(agent: Snmpd) -> AsyncIterator[MakeWire]:
    """Makes a wire to the agent, which damages its answers."""
    made: list[Wire] = []

    def make(damage: Damage = whole, *, stranger: bool = False) -> Wire:
        made.append(Wire(agent.port, damage, stranger=stranger))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
async def collectors() -> AsyncIterator[list[SnmpCollector]]:
    """Those that a test has made; they stop with it."""
    made: list[SnmpCollector] = []
    yield made
    for each in made:
        await each.stop()


def request_number(answer: bytes) -> tuple[int, int]:
    """Where the request-id of a response of SNMPv2c begins, and where it ends."""
    pdu = answer.index(COMMUNITY.encode()) + len(COMMUNITY)
    length = answer[pdu + 1]
    tag = pdu + 2 + (length & 0x7F if length & 0x80 else 0)
    return tag + 2, tag + 2 + answer[tag + 1]


def to_another_request(answer: bytes) -> bytes:
    """The same response, with a request-id that nobody has sent."""
    _, end = request_number(answer)
    return answer[: end - 1] + bytes((answer[end - 1] ^ 0x55,)) + answer[end:]


def garbage(answer: bytes) -> list[bytes]:
    """Nine datagrams that are no response, then the response."""
    drawn = random.Random(answer)
    halves = [answer[: len(answer) // 2], answer[:3], b"", b"\x30\x84\xff\xff\xff\xff", b"\x30\x80" * 600]
    noise = [drawn.randbytes(200), b"\x00" * 1400, bytes(reversed(answer)), answer[:-1] + b"\xff\xff\xff"]
    return [*halves, *noise, answer]


@pytest.mark.parametrize(
    "damage",
    [
        garbage,
        lambda answer: [answer, answer],
        lambda answer: [to_another_request(answer), answer],
    ],
    ids=["garbage", "twice", "another request's response"],
)
async def test_what_is_no_response_is_ignored(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector], damage: Damage
) -> None:
    agent.serve(interfaces(2))
    address = await wire(damage).open()
    collectors.append(collector(tmp_path, address, ledger))
    batches = [await collectors[0].collect(NOW_NS + second) for second in range(2)]
    assert [batch.collection.down for batch in batches] == [None, None]
    assert of_port(batches[1], "Ethernet4")["fabric_port_receive_bytes_total"] == 1002
    assert ledger.samples_in == sum(map(len, batches))


@pytest.mark.parametrize(
    "damage",
    [
        lambda answer: [],
        lambda answer: [answer[:-5]],
        lambda answer: [to_another_request(answer)],
        lambda answer: [b"\x30\x03\x02\x01\x01"],
    ],
    ids=["silence", "truncated", "another request's response", "another message"],
)
async def test_without_a_response_the_device_is_down_and_the_next_collection_works(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector], damage: Damage
) -> None:
    agent.serve(interfaces(1))
    made = wire(damage)
    collectors.append(collector(tmp_path, await made.open(), ledger, request_timeout_s=0.3, retries=10))
    failed = await collectors[0].collect(NOW_NS)
    made.damage = whole
    back = await collectors[0].collect(NOW_NS)
    assert (failed.collection.down, len(failed)) == (DownReason.TIMEOUT, 0)
    assert of_port(back, "Ethernet0")["fabric_port_up"] == 1


async def test_a_lost_datagram_is_asked_for_again(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    agent.serve(interfaces(1))
    lost: list[bytes] = []

    def lose_every_fifth(answer: bytes) -> list[bytes]:
        lost.append(answer)
        return [] if len(lost) % 5 == 2 else [answer]

    address = await wire(lose_every_fifth).open()
    collectors.append(collector(tmp_path, address, ledger, request_timeout_s=0.5, retries=10))
    assert (await collectors[0].collect(NOW_NS)).collection.down is None


async def test_a_response_from_another_address_is_none(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    agent.serve(interfaces(1))
    address = await wire(stranger=True).open()
    collectors.append(collector(tmp_path, address, ledger, request_timeout_s=0.3, retries=1))
    assert (await collectors[0].collect(NOW_NS)).collection.down is DownReason.TIMEOUT


async def test_one_request_at_a_time_and_none_after_the_deadline(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    agent.serve(interfaces(3))
    unanswered = 0

    def counted(answer: bytes) -> list[bytes]:
        nonlocal unanswered
        unanswered = max(unanswered, len(made.requests) - answered[0])
        answered[0] += 1
        return [answer]

    answered = [0]
    made = wire(counted)
    collectors.append(collector(tmp_path, await made.open(), ledger))
    assert (await collectors[0].collect(NOW_NS)).collection.up
    assert unanswered == 1
    made.damage = lambda answer: []
    collectors.append(collector(tmp_path, f"{await made.open()}", ledger, request_timeout_s=30, timeout_s=0.5))
    late = await collectors[1].collect(NOW_NS)
    assert late.collection.down is DownReason.TIMEOUT


async def test_requests_come_no_faster_than_allowed(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    made = wire()
    collectors.append(collector(tmp_path, await made.open(), ledger, requests_per_s=20))
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await collectors[0].collect(NOW_NS)
    assert loop.time() - began_s >= (len(made.requests) - 1) / 20


async def test_a_device_that_says_too_big_is_asked_for_less(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    agent.serve(interfaces(20))
    refused = 0

    def small(answer: bytes) -> list[bytes]:
        """As an agent with messages of 484 bytes does, the least that RFC 3417 allows."""
        nonlocal refused
        if len(answer) <= 484:
            return [answer]
        refused += 1
        return [too_big(answer)]

    collectors.append(collector(tmp_path, await wire(small).open(), ledger, varbinds_max=100))
    first = await collectors[0].collect(NOW_NS)
    after_first = refused
    second = await collectors[0].collect(NOW_NS)
    assert of_port(first, "Ethernet76") == of_port(second, "Ethernet76")
    assert len(first) == len(second) == 20 * 9 + 1
    assert after_first >= 2
    assert refused == after_first


def too_big(answer: bytes) -> bytes:
    """A response of SNMPv2c to the same request: error-status tooBig, and no objects."""
    begin, end = request_number(answer)
    pdu = answer[begin - 2 : end] + b"\x02\x01\x01\x02\x01\x00\x30\x00"
    content = b"\x02\x01\x01\x04" + bytes((len(COMMUNITY),)) + COMMUNITY.encode() + bytes((0xA2, len(pdu))) + pdu
    return bytes((0x30, len(content))) + content


async def test_an_agent_whose_table_never_ends_is_left(
    agent: Snmpd, wire: MakeWire, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    """It answers each request for what follows a row with the same row again."""
    agent.serve(interfaces(30))
    seen: list[bytes] = []

    def repeat(answer: bytes) -> list[bytes]:
        seen.append(answer)
        if len(seen) < 4:
            return [answer]
        (begin, end), (old_begin, old_end) = request_number(answer), request_number(seen[2])
        assert end - begin == old_end - old_begin
        return [seen[2][:old_begin] + answer[begin:end] + seen[2][old_end:]]

    collectors.append(collector(tmp_path, await wire(repeat).open(), ledger, varbinds_max=10))
    assert (await collectors[0].collect(NOW_NS)).collection.down is DownReason.BAD_FORMAT


async def test_huge_and_odd_texts_become_short_labels(
    agent: Snmpd, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    objects = served(interfaces(1), sensor(1, "x" * 2000, 8, 9, 0, 20), sensor(2, 'a"b\\c\x01', 8, 9, 0, 21))
    objects[f"{IFX}.1.1"] = ("octet", "45 74 68 ff 00 0a 30")
    agent.serve(objects)
    collectors.append(collector(tmp_path, agent.address, ledger))
    found = values(await collectors[0].collect(NOW_NS))
    assert found[f'fabric_device_temperature_celsius{{device="leaf1",sensor="{"x" * 255}"}}'] == 20
    assert found['fabric_device_temperature_celsius{device="leaf1",sensor="a\\"b\\\\c"}'] == 21
    assert found['fabric_port_up{device="leaf1",port="Eth\ufffd0"}'] == 1


async def test_rows_with_an_index_that_is_none_are_dropped(
    agent: Snmpd, tmp_path: Path, ledger: Ledger, collectors: list[SnmpCollector]
) -> None:
    peers = "1.3.6.1.2.1.15.3.1.2"
    agent.serve({f"{peers}.10.0.0": ("integer", 6), f"{peers}.10.0.0.999": ("integer", 6)})
    collectors.append(collector(tmp_path, agent.address, ledger))
    batch = await collectors[0].collect(NOW_NS)
    assert len(batch) == 1
    assert ledger.drops == {"bad_format": 2}
    assert ledger.samples_in == 3
