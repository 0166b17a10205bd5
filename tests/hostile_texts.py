"""Texts that a device, a job or a person may send, and that are code somewhere: one collection for every output."""

import itertools

# Each does something, or ends what it stands in, where it is not made harmless.
_MARKUP = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg/onload={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<a href='javascript:{}'>x</a>",
    "<body onload={}>",
    "<details open ontoggle={}>",
    "<style>@import '//evil.example/{}'",
    "<base href=//evil.example/{}>",
    "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<input autofocus onfocus={}>",
    "<math><mtext><script>{}</script>",
    "<!--<script>{}//-->",
    "<video><source onerror={}>",
    "<form action=javascript:{}><button>",
    "<object data=javascript:{}>",
    "<embed src=javascript:{}>",
    "<link rel=stylesheet href='//evil.example/{}'>",
)
_ENDS = ("", '"', "'", "</title>", "</textarea>", "-->", '"]}}', "\\", "`", "]]>")
_CALL = "globalThis.owned=1"
_TERMINAL = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07",
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\x1b[2J\x1b[H",
    "\x1bP$q\x1b\\",
    "\x9b2J",
    "\x9d0;owned\x9c",
    "\x07\x08\x08\x08",
    "\rlevel=error event=forged",
    "a\nb level=error",
    "a\r\nX-Injected: 1",
    "\x00nul",
    "\x7fdel",
    "tab\there",
    "\x0bvertical\x0cfeed",
    "\u2028line\u2029paragraph",
    "\x85next",
)
_UNICODE = (
    "left\u202eright",
    "\u2066isolate\u2069",
    "\u200eleft\u200fright",
    "\u061cmark \u202dforced\u202c",
    "\u200bzero\u200c\u200d\ufeff",
    "a\u0300" * 50,
    "\U000e0041tag",
    "ﷺ" * 20,
    "\ufffe\uffff",
    "\ud800 lone",
    "\udfff lone",
    "🏴\U000e0067\U000e007f",
    "İıſK",
    "٠١٢",
    "\u00a0\u3000wide",
    "𝕏" * 40,
)
_TEMPLATES = (
    '{{ template "x" }}',
    '{{ .Labels.x | reReplaceAll "a" "b" }}',
    "${7*7}",
    "{{7*7}}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{% raw %}",
    "%s%n%x",
    "{0.__class__}",
    "$__rate_interval",
    "${device:raw}",
    "[[device]]",
    "$&$`$'$$",
    "$(id)",
    "`id`",
    "; id #",
    "| id",
    "&& id",
)
_QUERIES = (
    'leaf1"} or vector(1) #',
    'leaf1"} == 0 or up{job="',
    ".*",
    "a|b",
    "leaf1'; DROP TABLE incidents; --",
    "1 OR 1=1",
    "%' --",
    '{"$gt": ""}',
    "*)(uid=*",
    "../../etc/passwd",
    "..\\..\\windows",
    "/%2e%2e/%2e%2e/",
    "file:///etc/passwd",
    "http://169.254.169.254/",
)
_CHAT = (
    "<!channel> fire",
    "<!here>",
    "<@U123>",
    "<https://evil.example|Click here>",
    "@everyone",
    "@room",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "*bold* _it_ ~s~ `c`",
    "> quote\n> more",
    ":fire:" * 20,
    "http://carol:s3cret@host/x",
)
_SHEETS = (
    "=1+1",
    '=HYPERLINK("http://evil.example")',
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    ',;"\n',
    '"',
)
_NUMBERS = (
    "NaN",
    "Infinity",
    "-0",
    "1e999",
    "0x10",
    "١",
    "null",
    "undefined",
    "true",
    "None",
    "[]",
    "{}",
    "__proto__",
    "constructor",
)
_LONG = ("x" * 100_000, "🔥" * 30_000, "<" * 50_000, '"' * 50_000, "\\" * 50_000)

CATEGORIES: dict[str, tuple[str, ...]] = {
    "HTML": tuple(end + markup.format(_CALL) for markup, end in itertools.product(_MARKUP, _ENDS)),
    "commands of a terminal": _TERMINAL,
    "direction and other marks of Unicode": _UNICODE,
    "templates and shells": _TEMPLATES,
    "quotes and operators of queries": _QUERIES,
    "markup of chats": _CHAT,
    "formulas of spreadsheets": _SHEETS,
    "other types": _NUMBERS,
    "long": _LONG,
}
HOSTILE_TEXTS: tuple[str, ...] = tuple(itertools.chain.from_iterable(CATEGORIES.values()))
"""All different; some hold half of a surrogate pair, which no encoding of Unicode takes."""

WELL_FORMED = tuple(text for text in HOSTILE_TEXTS if not any(0xD800 <= ord(character) < 0xE000 for character in text))
"""Those that arrive over UTF-8."""

FIVE_MEGABYTES = "<" * 5_000_000
"""More than a record may have: only where nothing has to carry it."""


def joined(chars_max: int, each_max: int = 100) -> list[str]:
    """All well-formed texts, cut to ``each_max`` characters, in as few texts of ``chars_max`` as they fit into."""
    found = [""]
    for text in WELL_FORMED:
        cut = text[:each_max]
        if len(found[-1]) + len(cut) >= chars_max:
            found.append("")
        found[-1] += f" {cut}"
    return found
