"""Documents whose shape is known give what flattening them gives, bit for bit."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from telemetry.gnmi import gnmi_pb2

NOW = 1_700_000_000_000_000_000
NAMES = ("IF_IN_OCTETS", "IF_OUT_OCTETS", "IF_IN_ERRORS", "IF_OUT_ERRORS", "IF_IN_DISCARDS", "PFC_3_RX_PKTS")


def response(body: str, path: str = "COUNTERS/Ethernet*", database: str = "COUNTERS_DB") -> bytes:
    made = gnmi_pb2.SubscribeResponse()
    made.update.timestamp = NOW
    made.update.prefix.target = database
    made.update.update.add(path=parse_path(path)).val.json_ietf_val = body.encode()
    return made.SerializeToString()


def counters(values: Iterator[str]) -> str:
    ports = []
    for port in range(4):
        fields = ",".join(f'"SAI_PORT_STAT_{name}":{next(values)}' for name in NAMES)
        ports.append(f'"Ethernet{4 * port}":{{{fields}}}')
    return "{" + ",".join(ports) + "}"


def content(decoded: Decoded) -> tuple[dict[str, float], object]:
    keys = [decoded.table.keys[row] for row in decoded.rows.tolist()]
    return dict(zip(keys, decoded.values.tolist(), strict=True)), decoded.drops


def decoder() -> Decoder:
    return Decoder("test", "leaf1", Naming(("sonic", "openconfig")))


def flattened(body: str, **where: str) -> tuple[dict[str, float], object]:
    """By a decoder that has never seen a document."""
    return content(decoder().decode([response(body, **where)], NOW))


def numbers(dice: random.Random) -> Iterator[str]:
    while True:
        whole = str(dice.getrandbits(dice.choice((1, 20, 53, 62))))
        kinds = (whole, f"{dice.random() * 1e6:.4f}", f"{dice.random():.6g}", f"{dice.random():.17g}", f"{whole}e2")
        number = dice.choice(kinds)
        yield f'"{number}"' if dice.random() < 0.9 else number


def test_numbers_are_rounded_as_python_does() -> None:
    dice = random.Random(5)
    known = decoder()
    known.decode([response(counters(iter(["1" if n % 3 else '"7"' for n in range(24)])))], NOW)
    known.decode([response(counters(iter(['"7"'] * 24)))], NOW)
    for _ in range(300):
        body = counters(f'"{number.strip(chr(34))}"' for number in numbers(dice))
        assert content(known.decode([response(body)], NOW)) == flattened(body)


def test_other_shapes_words_and_absent_values_are_seen() -> None:
    dice = random.Random(6)
    known = decoder()
    for _ in range(200):
        values = numbers(dice)
        texts = (
            dice.choice(('"N/A"', '""', '"1_0"', '"x"', "true", "{}")) if dice.random() < 0.01 else n for n in values
        )
        body = counters(texts)
        body = body.replace(",", " , ") if dice.random() < 0.05 else body
        assert content(known.decode([response(body)], NOW)) == flattened(body)


@pytest.mark.parametrize("word", ["up", "down"])
def test_words_and_names_of_a_known_shape_are_read_each_time(word: str) -> None:
    ports = ",".join(
        f'"Ethernet{4 * n}":{{"alias":"etp{n}","oper_status":"{word}","speed":"400000","flap_count":"%d"}}'
        for n in range(20)
    )
    known = decoder()
    where = {"path": "PORT_TABLE", "database": "APPL_DB"}
    for n in range(4):
        decoded = known.decode([response("{" + ports.replace("%d", str(n)) + "}", **where)], NOW)
    assert content(decoded) == flattened("{" + ports.replace("%d", "3") + "}", **where)
    assert sum(one.text == "etp3" for one in decoded.metadata) == 1


def test_a_key_that_looks_like_a_number_is_no_value() -> None:
    rows = ",".join(f'"Ethernet{4 * port}:3":{{"SAI_QUEUE_STAT_PACKETS":"%d"}}' for port in range(20))
    known = decoder()
    for n in range(3):
        decoded = known.decode([response("{" + rows.replace("%d", str(n)) + "}", "COUNTERS/Ethernet*/Queues")], NOW)
    assert decoded.values.tolist() == [2.0] * 20
    assert bool((np.diff(decoded.rows.astype(np.int64)) == 1).all())


def test_deletes_and_new_rows_move_the_known_rows() -> None:
    known = decoder()
    body = counters(iter(['"5"'] * 24))
    for _ in range(2):
        known.decode([response(body)], NOW)
    gone = gnmi_pb2.SubscribeResponse()
    gone.update.timestamp = NOW
    gone.update.prefix.target = "COUNTERS_DB"
    gone.update.delete.append(parse_path("COUNTERS/Ethernet*"))
    known.decode([gone.SerializeToString()], NOW)
    known.decode([], NOW)
    assert content(known.decode([response(body)], NOW)) == flattened(body)
    assert content(known.decode([response(body)], NOW)) == flattened(body)
