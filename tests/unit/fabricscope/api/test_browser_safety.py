"""What keeps a browser safe on every answer, and what is not served at all."""

from html.parser import HTMLParser

import aiohttp
import pytest

from dashboards.noc import STATIC
from tests.unit.fabricscope.api.traffic import get


@pytest.mark.parametrize(
    "path", ["/", "/noc.js", "/api/v1/incidents", "/api/v1/incidents/none", "/-/healthy", "/login"]
)
async def test_every_answer_forbids_foreign_content_and_frames(api, path):
    async with aiohttp.ClientSession() as session, session.get(api.url + path) as answer:
        assert answer.headers["Content-Security-Policy"] == (
            "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


class _Inline(HTMLParser):
    """Code and styles that stand in the page itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.found.append(tag)
        self.found += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]


def inline(page: str) -> list[str]:
    parser = _Inline()
    parser.feed(page)
    return parser.found


def test_the_page_has_no_code_in_line():
    assert inline('<script src="a.js"></script><script>x()</script><p onclick="x()" style="">') == [
        "script",
        "p onclick",
        "p style",
    ]
    assert [page.name for page in STATIC.glob("*.html") if inline(page.read_text())] == []


class _WithoutCode(HTMLParser):
    """Links and text within ``noscript``."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside |= tag == "noscript"
        if self._inside and tag == "a":
            self.links.append(dict(attrs)["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "noscript"

    def handle_data(self, data: str) -> None:
        self.text += data if self._inside else ""


async def test_without_javascript_the_page_leads_to_the_same_data(api):
    _, page = await get(api.url, "/")
    parser = _WithoutCode()
    parser.feed(page)
    assert "drawn by JavaScript" in parser.text
    assert "/api/v1/incidents" in parser.links
    assert [(await get(api.url, link))[0] for link in parser.links] == [200] * len(parser.links)
