"""Protobuf's wire format for what is written once and then copied."""


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return bytes((number << 3 | 2,)) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number that is not negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
