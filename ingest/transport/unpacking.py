"""What a sender has compressed, never more of it than may be."""

from isal import isal_zlib
from isal.igzip_lib import IsalError

from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import DownReason

WINDOW_BITS = {"gzip": 16 + 15, "deflate": 15}
"""By the name of an encoding. Deflate is in zlib's format, as HTTP means it."""


def unpacked(data: bytes, window_bits: int, bytes_max: int) -> bytes:
    """No more is unpacked than ``bytes_max`` and one byte.

    CallEnded: TOO_LARGE beyond that, BAD_ENCODING for what is damaged, cut off, or followed by something else.
    """
    unpacking = isal_zlib.decompressobj(window_bits)
    try:
        found: bytes = unpacking.decompress(data, bytes_max + 1)
    except IsalError as error:  # type: ignore[misc]  # its stub hides the base class
        raise CallEnded(DownReason.BAD_ENCODING, f"a damaged message: {error}") from error
    if len(found) > bytes_max:
        raise CallEnded(DownReason.TOO_LARGE, f"a message of more than {bytes_max} bytes, decompressed")
    if not unpacking.eof or unpacking.unused_data:
        raise CallEnded(DownReason.BAD_ENCODING, "a damaged message")
    return found
