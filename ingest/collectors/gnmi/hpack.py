"""HTTP/2's header compression (RFC 7541), as much as a gRPC client needs that asked for no dynamic table."""

from collections.abc import Iterable

_STATUS = dict(zip(range(8, 15), ("200", "204", "206", "304", "400", "404", "500"), strict=True))
_STATIC = 61
# RFC 7541 appendix B: symbols by the length of their code in bits; codes are canonical, so that this is all.
_HUFFMAN = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\x00$@[]~",
    14: b"^}",
    15: b"<`{",
    19: bytes.fromhex("5cc3d0"),
    20: bytes.fromhex("808283a2b8c2e0e2"),
    21: bytes.fromhex("99a1a7acb0b1b3d1d8d9e3e5e6"),
    22: bytes.fromhex("81848586 88929a9c a0a3a4a9 aaadb2b5 b9babbbd bec4c6e4 e8e9"),
    23: bytes.fromhex("0187898a 8b8c8d8f 93959697 989b9d9e a5a6a8ae afb4b6b7 bcbfc5e7 ef"),
    24: bytes.fromhex("098e9091949fabced7e1eced"),
    25: bytes.fromhex("c7cfeaeb"),
    26: bytes.fromhex("c0c1c8c9 cacdd2d5 dadbeef0 f2f3ff"),
    27: bytes.fromhex("cbccd3d4 d6dddedf f1f4f5f6 f7f8fafb fcfdfe"),
    28: bytes.fromhex("02030405 0607080b 0c0e0f10 11121314 15171819 1a1b1c1d 1e1f7fdc f9"),
    30: bytes.fromhex("0a0d16"),
}


def _symbols() -> dict[tuple[int, int], int]:
    """Length and code -> symbol."""
    found, code, before = {}, 0, 0
    for length, symbols in _HUFFMAN.items():
        code <<= length - before
        before = length
        for symbol in symbols:
            found[length, code] = symbol
            code += 1
    return found


_SYMBOLS = _symbols()


def encode(headers: Iterable[tuple[str, str]]) -> bytes:
    """A header block of literals that no proxy may keep; names in lower case."""
    return b"".join(b"\x10" + _text(name) + _text(value) for name, value in headers)


def decode(block: bytes) -> dict[str, str]:
    """The header fields of a block that refers to no dynamic table; ValueError for any other.

    Names that only HTTP's own static table gives are left out, but for ``:status``.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _number(block, at, 7)
            if not 0 < index <= _STATIC:
                raise ValueError(f"header field {index}: there is no dynamic table")
            if index in _STATUS:
                found[":status"] = _STATUS[index]
        elif first & 0xE0 == 0x20:
            at = _number(block, at, 5)[1]
        else:
            index, at = _number(block, at, 6 if first & 0x40 else 4)
            if index > _STATIC:
                raise ValueError(f"header name {index}: there is no dynamic table")
            name = ":status" if index in _STATUS else ""
            if not index:
                name, at = _read_text(block, at)
            value, at = _read_text(block, at)
            if name:
                found[name] = value
    return found


def _text(text: str) -> bytes:
    data = text.encode()
    if len(data) < 127:
        return bytes((len(data),)) + data
    rest, size = len(data) - 127, b"\x7f"
    while rest >= 128:
        size += bytes((rest & 127 | 128,))
        rest >>= 7
    return size + bytes((rest,)) + data


def _number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """An integer that begins in the low ``bits`` of a byte, and the place behind it."""
    mask = (1 << bits) - 1
    number = block[at] & mask
    at += 1
    if number < mask:
        return number, at
    for shift in range(0, 28, 7):
        if at >= len(block):
            break
        byte = block[at]
        at += 1
        number += (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number in the header block does not end")


def _read_text(block: bytes, at: int) -> tuple[str, int]:
    if at >= len(block):
        raise ValueError("the header block ends within a field")
    packed = block[at] & 0x80
    size, at = _number(block, at, 7)
    if at + size > len(block):
        raise ValueError("the header block ends within a text")
    data = block[at : at + size]
    return (_unpacked(data) if packed else data).decode("latin-1"), at + size


def _unpacked(data: bytes) -> bytes:
    found, code, length = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            length += 1
            symbol = _SYMBOLS.get((length, code))
            if symbol is not None:
                found.append(symbol)
                code = length = 0
    if length > 7 or code != (1 << length) - 1:
        raise ValueError("a text in the header block does not end with its padding")
    return bytes(found)
