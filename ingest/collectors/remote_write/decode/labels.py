"""The labels of a series that is new, checked; from the bytes by which it is known. Plain Python: once a series."""

from common.errors import BadInput

BAD_LABELS = "bad_labels"


def read_labels(key: bytes) -> tuple[str, dict[str, str]]:
    """Metric and labels of a key: the field ``labels`` of ``prometheus.TimeSeries``, once for each label.

    A label with an empty value is the same as none. BadInput for a name that is missing or comes twice, and for what
    is no UTF-8.
    """
    labels: dict[str, str] = {}
    at = 0
    while at < len(key):
        _, body, at = _field(key, at)
        name, value = _label(key[body:at])
        if not name or name in labels:
            raise BadInput(f"label {name[:80]!r}: expected a name that comes once", BAD_LABELS)
        labels[name] = value
    metric = labels.pop("__name__", "")
    if not metric:
        raise BadInput(f"labels {str(labels)[:80]}: expected __name__", BAD_LABELS)
    return metric, {name: value for name, value in labels.items() if value}


def _label(content: bytes) -> tuple[str, str]:
    texts = {1: b"", 2: b""}
    at = 0
    while at < len(content):
        number, body, at = _field(content, at)
        if number in texts:
            texts[number] = content[body:at]
    try:
        return texts[1].decode(), texts[2].decode()
    except UnicodeDecodeError:
        raise BadInput(f"label {texts[1][:80]!r}: expected UTF-8", BAD_LABELS) from None


def _field(content: bytes, at: int) -> tuple[int, int, int]:
    """Number, begin and end of a length-delimited field; all others of ``Label`` are unknown to us."""
    tag, at = _varint(content, at)
    if tag & 7 != 2:
        raise BadInput("a label: expected text alone", BAD_LABELS)
    size, at = _varint(content, at)
    if size > len(content) - at:
        raise BadInput("a label that is cut off", BAD_LABELS)
    return tag >> 3, at, at + size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(content[at : at + 10]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise BadInput("a label that is cut off", BAD_LABELS)
