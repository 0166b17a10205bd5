"""Why our servers end a connection, or a call or request: the closed set that their metric counts by."""

from enum import StrEnum


class RefusalReason(StrEnum):
    """Of connections, then of calls and requests."""

    CONNECTIONS = "connections"  # too many are open
    TLS = "tls"  # the handshake failed, or was not over in time
    NOT_HTTP2 = "not_http2"  # no preface, or another protocol by ALPN
    HANDSHAKE = "handshake"  # no SETTINGS in time
    PROTOCOL = "protocol"
    FLOW_CONTROL = "flow_control"  # more bytes than the window, or a window beyond what there is
    HEADERS = "headers"  # a header block that cannot be unpacked
    FLOOD = "flood"  # frames without data, resets, header blocks above their limit
    KEEPALIVE = "keepalive"  # the peer answers no pings, or does not read
    IDLE = "idle"  # no call for long

    STREAMS = "streams"  # too many calls of one connection
    UNKNOWN_METHOD = "unknown_method"  # or path
    NOT_GRPC = "not_grpc"
    TOO_LARGE = "too_large"  # a message above its limit, packed or unpacked
    ENCODING = "encoding"  # compressed or written in a way that is not read, or damaged
    CARDINALITY = "cardinality"  # not one message, where there has to be one
    DEADLINE = "deadline"  # of the client
    SLOW = "slow"  # a message was not whole in time
    MEMORY = "memory"  # it held most of what all calls may hold together
