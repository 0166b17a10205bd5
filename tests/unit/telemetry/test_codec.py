"""Batches on the wire."""

import base64
import math
import struct
import zlib
from dataclasses import replace
from importlib.resources import files

import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from common.errors import BadInput
from telemetry.codec import dictionaries
from telemetry.codec.batch import (
    DIGEST_HEADER,
    LEFT_OUT_HEADER,
    RAW_BYTES_MAX,
    SERIES_MAX,
    UNMAPPED_HEADER,
    BatchDecoder,
    encode_batch,
)
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key

FSB1_BYTES = 8150
names = st.from_regex(r"[a-z_]{1,10}", fullmatch=True)
keys = st.builds(series_key, names, st.dictionaries(names, st.text(max_size=5), max_size=3))
int64, positive = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**63 - 1)


@st.composite
def batches(draw: st.DrawFn) -> SampleBatch:
    table = SeriesTable(
        draw(st.text(min_size=1, max_size=8)), draw(names), tuple(draw(st.lists(keys, min_size=1, unique=True)))
    )
    collected_ns = draw(positive)
    down = draw(st.none() | st.sampled_from(DownReason))
    collection = Collection(draw(positive), draw(positive), collected_ns, draw(st.floats(0, 1e6)), down)
    rows = draw(st.lists(st.integers(0, len(table) - 1), min_size=0 if down else 1, max_size=20))
    if draw(st.booleans()):
        rows = sorted(set(rows)) if draw(st.booleans()) else list(range(len(table)))
    times = [draw(int64) for _ in rows] if draw(st.booleans()) else [collected_ns] * len(rows)
    values = draw(hnp.arrays(np.float64, len(rows), elements=st.floats(allow_nan=False)))
    return SampleBatch(table, collection, np.array(times, np.int64), np.array(rows, np.uint32), values)


def batch(rows: int = 5, seed: int = 0) -> SampleBatch:
    table = SeriesTable("job/a:1", "node1", tuple(series_key("m", {"row": str(row)}) for row in range(rows)))
    values = np.random.default_rng(seed).random(rows)
    return SampleBatch(
        table, Collection(1, 2, 3, 0.5), np.full(rows, 3, np.int64), np.arange(rows, dtype=np.uint32), values
    )


def same(one: SampleBatch, other: SampleBatch) -> bool:
    """Bit for bit, and of the same types."""
    columns = ("times_ns", "series", "values")
    return (
        one.collection == other.collection
        and (one.table.target, one.table.device) == (other.table.target, other.table.device)
        and one.table.keys == other.table.keys
        and all(getattr(one, c).tobytes() == getattr(other, c).tobytes() for c in columns)
        and all(getattr(one, c).dtype == getattr(other, c).dtype for c in columns)
    )  # fmt: skip


def sealed(value: bytes) -> bytes:
    """With the checksum that belongs to what follows it."""
    return value[:4] + struct.pack("<I", zlib.crc32(value[8:])) + value[8:]


@given(batches())
@settings(deadline=None)
def test_what_goes_in_comes_out(given_batch: SampleBatch) -> None:
    value, headers = encode_batch(given_batch)
    decoder = BatchDecoder()
    assert headers[DIGEST_HEADER] == given_batch.table.digest
    assert same(decoder.decode(value, {}), given_batch)
    assert same(decoder.decode(value, headers), given_batch)


def test_the_count_of_unmapped_series_is_a_header_that_readers_of_before_pass_over() -> None:
    given = batch(seed=1)
    value, headers = encode_batch(replace(given, collection=replace(given.collection, unmapped=17)))
    assert (value, headers[UNMAPPED_HEADER]) == (encode_batch(given)[0], b"17")
    assert BatchDecoder().decode(value, headers).collection.unmapped == 17
    assert UNMAPPED_HEADER not in encode_batch(given)[1]


def test_so_is_the_count_of_series_that_are_left_out() -> None:
    given = batch()
    value, headers = encode_batch(replace(given, collection=replace(given.collection, left_out=18)))
    assert (value, headers[LEFT_OUT_HEADER]) == (encode_batch(given)[0], b"18")
    found = BatchDecoder().decode(value, headers).collection
    assert (found.unmapped, found.left_out) == (0, 18)


@pytest.mark.parametrize("count", [b"", b"-1", b"1.5", b"9" * 11, b"\xff"])
def test_a_count_of_unmapped_series_that_is_none_is_refused(count: bytes) -> None:
    value, headers = encode_batch(batch(seed=1))
    with pytest.raises(BadInput, match="unmapped: expected a count"):
        BatchDecoder().decode(value, {**headers, UNMAPPED_HEADER: count})


def test_a_known_table_is_not_decoded_again() -> None:
    decoder = BatchDecoder()
    first, second = (decoder.decode(*encode_batch(batch(seed=seed))) for seed in (1, 2))
    assert first.table is second.table


def test_the_decoder_forgets_the_least_recently_used_table() -> None:
    decoder = BatchDecoder(tables_bytes_max=1500)  # two of them
    encoded = [encode_batch(batch(rows)) for rows in (1, 2, 3)]
    tables = [decoder.decode(*encoded[place]).table for place in (0, 1, 0, 2, 0, 1)]
    assert tables[4] is tables[0]
    assert tables[5] is not tables[1]
    assert tables[5] == tables[1]


def test_a_target_that_renames_its_series_keeps_a_few_tables() -> None:
    decoder = BatchDecoder()
    encoded = [encode_batch(batch(rows)) for rows in range(1, 9)]
    tables = [decoder.decode(*each).table for each in encoded]
    again = [decoder.decode(*each).table for each in encoded[::-1]]
    assert [one is other for one, other in zip(tables[::-1], again, strict=True)] == [True] * 4 + [False] * 4


def test_every_bit_that_flips_is_noticed() -> None:
    value, headers = encode_batch(batch())
    decoder = BatchDecoder()
    for bit in range(8 * len(value)):
        damaged = bytearray(value)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadInput) as caught:
            decoder.decode(bytes(damaged), headers)
        assert caught.value.reason == ("schema" if bit < 32 else "checksum")


def test_every_cut_is_noticed() -> None:
    value, headers = encode_batch(batch())
    for length in range(len(value)):
        with pytest.raises(BadInput):
            BatchDecoder().decode(value[:length], headers)


@pytest.mark.parametrize("field", [0, 3, 5])
def test_a_record_that_declares_too_much_is_refused(field: int) -> None:
    value = bytearray(encode_batch(batch())[0])
    struct.pack_into("<I", value, 8 + 4 * field, RAW_BYTES_MAX + 1)
    with pytest.raises(BadInput) as caught:
        BatchDecoder().decode(sealed(bytes(value)), {})
    assert caught.value.reason == "too_large"


def test_a_bomb_that_declares_little_is_refused_before_it_is_unpacked() -> None:
    value, _ = encode_batch(batch())
    _, _, rows, n_head, n_samples, samples_raw, n_table, table_raw = struct.unpack_from("<4sI6I", value)
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 30))
    assert len(bomb) < 1 << 20
    lengths = struct.pack("<6I", rows, n_head, len(bomb), samples_raw, n_table, table_raw)
    head = value[32 : 32 + n_head]
    with pytest.raises(BadInput, match="expected"):
        BatchDecoder().decode(sealed(value[:8] + lengths + head + bomb + value[32 + n_head + n_samples :]), {})


def test_the_dictionaries_of_the_formats_never_change() -> None:
    """What was recorded with one must stay readable: another dictionary is another format."""
    data = files("telemetry.codec").joinpath("fsb2.dict").read_bytes()
    assert (zlib.crc32(data), zlib.crc32(data[-FSB1_BYTES:])) == (0x5386ED2E, 0x458F3AE3)


@given(batches())
@settings(deadline=None)
def test_tables_that_were_written_with_the_first_dictionary_are_read(given_batch: SampleBatch) -> None:
    value, _ = encode_batch(given_batch)
    lengths = sizes(value)
    begin = 32 + lengths["head"] + lengths["samples"]
    raw = zstandard.ZstdDecompressor(dict_data=dictionaries.of_tables()).decompress(value[begin:])
    data = files("telemetry.codec").joinpath("fsb2.dict").read_bytes()[-FSB1_BYTES:]
    first = zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    packed = zstandard.ZstdCompressor(level=19, dict_data=first).compress(raw)
    prefix = struct.pack("<6I", *({**lengths, "table": len(packed)}.values()))
    written = sealed(b"FSB1" + value[4:8] + prefix + value[32:begin] + packed)
    assert same(BatchDecoder().decode(written, {}), given_batch)


def test_a_record_of_the_first_format_is_read() -> None:
    """Bytes that the product wrote before it had the second one."""
    value = base64.b85decode(
        "MpHsDKnfvl0ssI282|tPHvj+tPyqk{HUIzscmMzZTQMv$EHf-HE;TG}b!==bW?^h|Wh`4=T`09L{a{c4Z2<t7KmY;)h;u*yAaX$e|Ns900000"
        "A0ObsTC14E@0Q3VpK8XPc&I=+oCa4tzD77#BAb4#70K$O<3ee|3BGC;E%|crPVW`6GHp;t^-3JB$Ql~gWd{F@dsWS?HI?Oos46y"
    )
    assert value[:4] == b"FSB1"
    keys = tuple(series_key("gpu_power_watts", {"device": "node1", "gpu": gpu}) for gpu in ("GPU-0", "GPU-1"))
    table, times_ns = SeriesTable("gpu/a:1", "node1", keys), np.full(2, 3, np.int64)
    rows, values = np.arange(2, dtype=np.uint32), np.array([312.5, 290.0])
    expected = SampleBatch(table, Collection(1, 2, 3, 0.5), times_ns, rows, values)
    decoder = BatchDecoder()
    assert same(decoder.decode(value, {}), expected)
    assert same(decoder.decode(*encode_batch(expected)), expected)


def test_zeros_infinities_and_the_sign_of_zero_survive() -> None:
    table = SeriesTable("t", "d", ("a{}", "b{}", "c{}", "d{}"))
    values = np.array([0.0, -0.0, math.inf, 5e-324])
    given_batch = SampleBatch(
        table, Collection(0, 0, 0, 0.0), np.zeros(4, np.int64), np.arange(4, dtype=np.uint32), values
    )
    assert same(BatchDecoder().decode(*encode_batch(given_batch)), given_batch)


def test_a_page_of_two_hundred_series_takes_less_than_twelve_bytes_a_sample_with_its_table() -> None:
    """Values that change in all their digits; the table is half of it."""
    gpus = [f"GPU-{seed:08x}-9c28-8fdc-0b7e-{seed * 7919:012x}" for seed in range(8)]
    metrics = ["gpu_power_watts", "gpu_temperature_celsius", "gpu_sm_clock_hertz", "gpu_utilization_ratio"]
    metrics += [f"gpu_memory_{kind}_bytes" for kind in ("used", "free", "reserved")]
    keys = tuple(series_key(metric, {"device": "node1", "gpu": gpu}) for metric in metrics for gpu in gpus)
    values = np.random.default_rng(0).integers(0, 10**6, len(keys)).astype(np.float64)
    rows = np.arange(len(keys), dtype=np.uint32)
    given_batch = SampleBatch(
        SeriesTable("gpu/a:1", "node1", keys), Collection(1, 2, 3, 0.1), np.full(len(keys), 3, np.int64), rows, values
    )
    assert len(encode_batch(given_batch)[0]) < 12 * len(keys)


# ---- how rows travel


def sizes(value: bytes) -> dict[str, int]:
    """The lengths in the prefix of a record."""
    _, _, rows, head, samples, samples_raw, table, table_raw = struct.unpack_from("<4sI6I", value)
    return {"rows": rows, "head": head, "samples": samples, "raw": samples_raw, "table": table, "table_raw": table_raw}


def head_of(value: bytes) -> list[object]:
    found: list[object] = orjson.loads(value[32 : 32 + sizes(value)["head"]])
    return found


def partial(rows: list[int], size: int, times: list[int] | None = None) -> SampleBatch:
    table = SeriesTable("t", "d", tuple(f"m{n}{{}}" for n in range(size)))
    times_ns = np.array(times if times is not None else [7] * len(rows), np.int64)
    return SampleBatch(
        table, Collection(1, 2, 7, 0.5), times_ns, np.array(rows, np.uint32), np.arange(len(rows), dtype=np.float64)
    )


@pytest.mark.parametrize(
    ("rows", "size", "absent"),
    [
        ([0, 1, 2, 3], 4, []),
        ([0, 1, 3], 4, [2]),
        ([1, 2, 3], 4, [0]),
        ([0, 1, 2], 4, [3]),
        ([0, 1, 2, 3, 4, 6], 8, [5, 7]),
        # as rows of their own: out of order, repeated, or fewer than three of four
        ([1, 0, 2, 3], 4, None),
        ([0, 1, 1, 3], 4, None),
        ([0, 0, 1, 2, 3], 4, None),
        ([0, 1], 4, None),
        ([3, 2, 1], 4, None),
    ],
)
def test_rows_are_named_by_those_that_are_absent_when_these_are_few(
    rows: list[int], size: int, absent: list[int] | None
) -> None:
    given = partial(rows, size)
    value, _ = encode_batch(given)
    assert head_of(value)[-1] == absent
    assert same(BatchDecoder().decode(value, {}), given)


@pytest.mark.parametrize(("times", "stored"), [([7, 7, 7], False), ([7, 7, 8], True), ([0, 0, 0], True)])
def test_times_are_stored_unless_all_are_the_collection_s(times: list[int], stored: bool) -> None:
    given = partial([0, 1, 2], 3, times)
    value, _ = encode_batch(given)
    assert head_of(value)[-2] is stored
    assert sizes(value)["rows"] == 3
    assert same(BatchDecoder().decode(value, {}), given)


@pytest.mark.parametrize("down", DownReason)
def test_a_target_that_is_down_has_its_reason_and_no_samples(down: DownReason) -> None:
    empty = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0)
    given = SampleBatch(SeriesTable("t", "d", ()), Collection(1, 2, 3, 0.25, down), *empty)
    value, _ = encode_batch(given)
    assert (sizes(value)["rows"], sizes(value)["samples"]) == (0, 0)
    found = BatchDecoder().decode(value, {})
    assert (found.collection, len(found), len(found.table)) == (given.collection, 0, 0)


def with_table(*table: object) -> bytes:
    """A batch of three samples with another table; its digest is not known to anybody."""
    value, _ = encode_batch(partial([0, 1, 2], 3))
    raw, lengths = orjson.dumps(table), sizes(value)
    packed = zstandard.ZstdCompressor(dict_data=dictionaries.of_tables()).compress(raw)
    prefix = struct.pack("<6I", *({**lengths, "table": len(packed), "table_raw": len(raw)}.values()))
    begin = 32 + lengths["head"] + lengths["samples"]
    return sealed(value[:8] + prefix + value[32:begin] + packed)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ((["m"], ['a="0"}', 'a="1"}', 'a="2"}'], [[0, 1, 1]], [], "", "node1"), "schema"),  # a target without a name
        ((["m"], ['a="0"}', 'a="1"}', 'a="2"}'], [[0, 1, 1]], [], "t", ""), "schema"),
        ((["m"], ['a="0"}', 'a="1"}', 'a="2"}'], [[0, 1, 1]], [], "t", 7), "schema"),
        ((["m"], ['a="0"}', 'a="1"}', "a=2}"], [[0, 1, 1]], [], "t", "d"), "schema"),  # a value without quotes
        ((["m m"], ['a="0"}', 'a="1"}', 'a="2"}'], [[0, 1, 1]], [], "t", "d"), "schema"),
        ((["m"], ['a="0"}'], [[0, 0, 0]], [], "t", "d"), "schema"),  # one series three times
        ((["m"], ['a="0"}'], [[0, 1, 1]], [], "t", "d"), "schema"),
        ((["m"], [1, 2, 3], [[0, 1, 1]], [], "t", "d"), "schema"),
        ((["m"], ["}"], [[0] * (SERIES_MAX + 1)], [], "t", "d"), "too_large"),
        ((["m"], ["x" * 1000], [[0] * 100_000], [], "t", "d"), "too_large"),  # 100 kB that would become 100 MB
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: tuple[object, ...], reason: str) -> None:
    with pytest.raises(BadInput) as caught:
        BatchDecoder().decode(with_table(*table), {})
    assert caught.value.reason == reason


def test_a_table_whose_rows_alternate_between_metrics_keeps_their_order() -> None:
    keys = tuple(f'{metric}{{port="{port}"}}' for port in range(5) for metric in ("a", "b", "a_total"))
    table = SeriesTable("t", "d", keys)
    given = SampleBatch(
        table, Collection(0, 0, 0, 0.0), np.zeros(15, np.int64), np.arange(15, dtype=np.uint32), np.ones(15)
    )
    assert BatchDecoder().decode(*encode_batch(given)).table == table


@pytest.mark.parametrize(
    "head",
    [
        [1, 2, 7, 0.5, "asleep", False, []],  # no such reason
        [1, 2, 7, 0.5, None, False, [9]],  # an absent row that the table does not have
        [1, 2, 7, 0.5, None, False],
        {"epoch": 1},
        [1, 2, 7, 0.5, None, True, []],  # times that are not there
        [1, [2], 7, 0.5, None, False, []],
        [1, "2", 7, 0.5, None, False, []],
        [1, 2, 7.5, 0.5, None, False, []],
        [1, 2, 2**63, 0.5, None, False, []],
        [-1, 2, 7, 0.5, None, False, []],
        [1, 2, 7, -0.5, None, False, []],
        [1, 2, 7, None, None, False, []],
        [1, 2, 7, 0.5, ["timeout"], False, []],
        [1, 2, 7, 0.5, None, 1, []],
        [1, 2, 7, 0.5, None, False, {"0": 1}],
        [1, 2, 7, 0.5, None, False, ["0"]],
    ],
)
def test_a_head_that_does_not_fit_is_refused(head: object) -> None:
    value, _ = encode_batch(partial([0, 1, 2], 3))
    lengths, body = sizes(value), orjson.dumps(head)
    prefix = struct.pack("<6I", *({**lengths, "head": len(body)}.values()))
    rest = value[32 + lengths["head"] :]
    with pytest.raises(BadInput) as caught:
        BatchDecoder().decode(sealed(value[:8] + prefix + body + rest), {})
    assert caught.value.reason == "schema"


def test_a_digest_in_the_headers_that_is_not_the_table_s_is_not_believed_for_the_next_record() -> None:
    """The table is kept under its own digest, so that a wrong header misleads nobody."""
    decoder = BatchDecoder()
    first, second = partial([0, 1], 2), partial([0, 1, 2], 3)
    wrong = {DIGEST_HEADER: second.table.digest}
    assert decoder.decode(encode_batch(first)[0], wrong).table == first.table
    assert decoder.decode(*encode_batch(second)).table == second.table
