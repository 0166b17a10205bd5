"""What the headers of a request say about its body. Pure."""

from collections.abc import Mapping

from ingest.collectors.remote_write.decode.body import Message

CONTENT_TYPE = "application/x-protobuf"
_MESSAGES = {
    "": Message.FIRST,
    "prometheus.WriteRequest": Message.FIRST,
    "io.prometheus.write.v2.Request": Message.SECOND,
}


def message_of(headers: Mapping[str, str]) -> Message:
    """The message that a body is. ValueError, for status 415, names what is not supported.

    A sender of 1.0 may say neither encoding nor version: there is one of each.
    """
    encoding = headers.get("Content-Encoding", "snappy").strip().lower()
    if encoding != "snappy":
        raise ValueError(f"Content-Encoding {encoding[:40]!r}: expected snappy")
    media_type, *parameters = (part.strip() for part in headers.get("Content-Type", CONTENT_TYPE).split(";"))
    if media_type.lower() != CONTENT_TYPE:
        raise ValueError(f"Content-Type {media_type[:80]!r}: expected {CONTENT_TYPE}")
    named = dict(parameter.partition("=")[::2] for parameter in parameters)
    message = _MESSAGES.get(named.get("proto", "").strip('"'))
    if message is None:
        raise ValueError(f"proto {named['proto'][:80]!r}: expected one of {', '.join(filter(None, _MESSAGES))}")
    return message
