"""Boards drawn by Grafana's own code in Chromium: a picture, and what the page says about each panel.

``grafana_preview/page`` applies a board's own JSON to answers of Prometheus, as Grafana's pages do. It is no Grafana:
state timelines and annotations are our own boxes, because none of Grafana's packages has its own.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Page, Route

from tests.servers.chromium import new_page

WIDTH_PX = 1920
HEIGHT_PX = 1080
_VIEWPORT_PX = 8000  # higher than any board: a table draws no rows that are out of sight
_HERE = Path(__file__).parent / "grafana_preview"
_INSTALLED = Path(__file__).parents[2] / "build" / "grafana-preview"
_ORIGIN = "http://board.invalid"
_CONTENT_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_TYPEFACES = {"Inter-Regular": "inter-latin-400-normal", "Inter-Medium": "inter-latin-500-normal"}


@dataclass(frozen=True, slots=True)
class Link:
    """Where a value or a board leads, with its variables filled in."""

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that does not fit where it stands.

    part: ``title``, ``legend`` (a series' name) or ``body``. side: ``width`` or ``height``.
    """

    part: str
    side: str
    text: str


@dataclass(frozen=True, slots=True)
class DrawnPanel:
    """One panel as it stands on the page.

    box:         left, top, right, bottom in pixels.
    error:       why it could not be drawn.
    text:        all its texts, as a reader sees them.
    series:      lines, tiles or rows by the query's ``refId``.
    legend_share: area of the legend, as a share of the panel's.
    states, colours: of a timeline, those that were drawn.
    """

    id: int
    title: str
    type: str
    box: tuple[float, float, float, float]
    error: str | None
    text: str
    series: dict[str, int]
    legend_share: float
    cut: list[Cut]
    states: list[str]
    colours: list[str]
    links: list[Link]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A board as it was drawn.

    complaints: errors of the page and its console. requests: those beyond the page's own files.
    """

    picture: Path
    panels: list[DrawnPanel]
    links: list[Link]
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def bundle_page(folder: Path) -> Path:
    """The page with all that it imports, for ``BoardPage``; RuntimeError when Grafana's code is not installed."""
    esbuild = _INSTALLED / "node_modules" / ".bin" / "esbuild"
    if not (_INSTALLED / "complete").exists():
        raise RuntimeError("Grafana's drawing code is not installed; run: make peers")
    command = [
        *(str(esbuild), str(_HERE / "page" / "main.tsx"), f"--outdir={folder}", "--bundle", "--minify"),
        *("--format=iife", "--jsx=automatic", '--define:process.env.NODE_ENV="production"', "--loader:.ttf=empty"),
        *(f"--alias:monaco-editor={_HERE / 'page' / 'absent.cjs'}", "--log-level=error"),
    ]
    environment = os.environ | {"NODE_PATH": str(_INSTALLED / "node_modules")}
    bundled = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if bundled.returncode:
        raise RuntimeError(f"esbuild: {bundled.stderr}")
    (folder / "index.html").write_bytes((_HERE / "page" / "index.html").read_bytes())
    return folder


class BoardPage:
    """The page in a browser; draws one board after another."""

    def __init__(self, page: Page, folder: Path) -> None:
        self._page, self._folder = page, folder
        self._complaints: list[str] = []
        self._requests: list[str] = []

    @classmethod
    async def open(cls, browser: Browser, folder: Path) -> "BoardPage":
        """folder: from ``bundle_page``."""
        page = await new_page(browser, viewport={"width": WIDTH_PX, "height": _VIEWPORT_PX})
        opened = cls(page, folder)
        page.on("pageerror", lambda error: opened._complaints.append(str(error)))
        page.on("console", opened._listen)
        await page.route("**/*", opened._answer)
        await page.goto(f"{_ORIGIN}/index.html")
        return opened

    async def draw(self, document: Mapping[str, Any], picture: Path) -> Drawing:
        """Draws one document (``BoardDocument`` in ``page/document.ts``), and writes it to ``picture`` as PNG."""
        report = await self._page.evaluate("given => window.drawBoard(given)", dict(document))
        picture.parent.mkdir(parents=True, exist_ok=True)
        height = max(HEIGHT_PX, report["height"])
        await self._page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": WIDTH_PX, "height": height})
        complaints, self._complaints = self._complaints, []
        requests, self._requests = self._requests, []
        return Drawing(picture, [_panel(one) for one in report["panels"]], _links(report), complaints, requests)

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complaints.append(message.text)

    async def _answer(self, route: Route) -> None:
        """Nothing leaves this process: each request gets a file, or ends here."""
        found = _file_of(self._folder, route.request.url)
        if found is None:
            self._requests.append(route.request.url)
            await route.abort()
        else:
            await route.fulfill(body=found.read_bytes(), content_type=_CONTENT_TYPES.get(found.suffix, "font/woff2"))


def _file_of(page_folder: Path, url: str) -> Path | None:
    """What stands for an address of the page: a file of its own, a symbol or a typeface of Grafana's."""
    if not url.startswith(f"{_ORIGIN}/"):
        return None
    path = Path(url.removeprefix(f"{_ORIGIN}/"))
    modules = _INSTALLED / "node_modules"
    if path.parts[:3] == ("build", "img", "icons"):
        found = modules / "@grafana" / "ui" / "dist" / "public" / "img" / "icons" / Path(*path.parts[3:])
    elif path.stem in _TYPEFACES:
        found = modules / "@fontsource" / "inter" / "files" / f"{_TYPEFACES[path.stem]}.woff2"
    else:
        found = page_folder / path
    return found if found.is_file() else None


def _panel(one: Mapping[str, Any]) -> DrawnPanel:
    box = one["box"]
    return DrawnPanel(
        id=one["id"],
        title=one["title"],
        type=one["type"],
        box=(box["left"], box["top"], box["right"], box["bottom"]),
        error=one["error"],
        text=one["text"],
        series=one["series"],
        legend_share=one["legendShare"],
        cut=[Cut(**cut) for cut in one["cut"]],
        states=one["states"],
        colours=one["colours"],
        links=_links(one),
    )


def _links(of: Mapping[str, Any]) -> list[Link]:
    return [Link(**link) for link in of["links"]]
