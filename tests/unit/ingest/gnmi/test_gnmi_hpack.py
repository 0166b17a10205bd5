"""Header blocks as in RFC 7541's examples, and those that need what we did not ask for."""

import pytest

from ingest.collectors.gnmi.hpack import decode, encode


def test_what_is_encoded_is_decoded() -> None:
    headers = {":path": "/gnmi.gNMI/Subscribe", "password": "x" * 300, "te": "trailers", "empty": ""}
    assert decode(encode(headers.items())) == headers


def test_huffman_texts_are_unpacked() -> None:
    """RFC 7541, C.6.1: the response with Huffman coding, its dynamic entries sent as literals."""
    block = bytes.fromhex("4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff")
    assert decode(block) == {":status": "302"}


def test_status_and_words_of_a_server_come_out() -> None:
    grpc_status = b"\x40" + b"\x0bgrpc-status" + b"\x0216"
    size_update = b"\x20"
    assert decode(size_update + b"\x88" + grpc_status) == {":status": "200", "grpc-status": "16"}


@pytest.mark.parametrize(
    "block",
    [b"\xbe", b"\x7f\x00", b"\x00\x05ab", b"\x00\x7f\xff\xff\xff\xff\xff", b"\x48\x81\x00", b"\x80", b"\x00"],
    ids=["dynamic field", "dynamic name", "cut text", "endless number", "padding", "index 0", "nothing follows"],
)
def test_what_cannot_be_read_is_an_error(block: bytes) -> None:
    with pytest.raises(ValueError, match=r"header|number"):
        decode(block)
