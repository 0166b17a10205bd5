"""Text from elsewhere that is printed: no character in it acts on a terminal, and no address shows a password."""

import re

_CONTROLS = {
    code: f"\\u{code:04x}"
    for code in (
        *range(0x20),  # C0: ESC begins a command of a terminal, CR and LF a forged line
        *range(0x7F, 0xA0),  # DEL and C1, where one character is ESC and a bracket
        *(0x2028, 0x2029),  # line ends of Unicode
        *(0x061C, 0x200E, 0x200F),  # direction: text that reads as another
        *(*range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    )
}
_OF_LINES = {code: escape for code, escape in _CONTROLS.items() if code != 0x0A}
# The part before the last @ of what names the host. A password with a slash in it is no host either: its colon is
# followed by something else than a port. 256: to stay linear.
_USERINFO = re.compile(r"(?<=://)(?:[^\s/?#\"']*|[^\s/?#:\"']*:(?!\d{1,5}(?:[/?#\"'\s]|$))[^\s\"']{0,256})@")


def escape_controls(text: str, *, keep_lines: bool = False) -> str:
    r"""The text with control and direction characters as ``\u001b``; line feeds stay with ``keep_lines``.

    >>> print(escape_controls("a\x1b[31m\r\nb"))
    a\u001b[31m\u000d\u000ab
    """
    return text.translate(_OF_LINES if keep_lines else _CONTROLS)


def mask_userinfo(text: str) -> str:
    """The text with ``***`` for user names and passwords of addresses.

    >>> mask_userinfo("write to https://carol:s3cret@prometheus:9090/api")
    'write to https://***@prometheus:9090/api'
    """
    return _USERINFO.sub("***@", text) if "@" in text else text


def printable(text: str, *, keep_lines: bool = False) -> str:
    """Both, for what goes to a terminal or a log."""
    return escape_controls(mask_userinfo(text), keep_lines=keep_lines)
