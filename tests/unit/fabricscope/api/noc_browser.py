"""The NOC page in a real browser: how tests open it, keep pictures of it, and measure whether it can be read."""

from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Page

from tests.servers.chromium import new_page

PICTURES = Path(__file__).parents[4] / "build" / "pictures"
"""Where a run of the tests leaves what the page looked like."""
MINIMUM_CONTRAST = 4.5  # WCAG 2.2 AA

# The contrast ratio of every text on the page with its background, by the definition of WCAG 2.2. Text of the map
# stands on its box, or on the panel.
_CONTRASTS = """() => {
  const linear = (x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    const box = node.parentElement.querySelector(":scope > rect");
    if (box && node.localName === "text") return rgb(getComputedStyle(box).fill);
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (node, colour) => {
    const [dark, bright] = [light(rgb(colour)), light(ground(node))].sort((a, b) => a - b);
    return [(bright + 0.05) / (dark + 0.05), node.textContent.slice(0, 30)];
  };
  const html = [...document.querySelectorAll("h1,h2,h3,p,dt,dd,li,span,b,button,label,output,select")];
  const drawn = [...document.querySelectorAll("svg text")];
  return [
    ...html.filter((node) => node.innerText && node.offsetParent)
      .map((node) => contrast(node, getComputedStyle(node).color)),
    ...drawn.map((node) => contrast(node, getComputedStyle(node).fill)),
  ];
}"""

ELEMENTS = """() => [...new Set([...document.querySelectorAll("*")].map((node) => node.localName))].sort()"""
"""The names of all elements that the page has."""


async def open_page(
    browser: Browser, url: str, width: int = 1920, height: int = 1080, scheme: Literal["dark", "light"] = "dark"
) -> tuple[Page, list[str]]:
    """The page and what went wrong on it: console errors, failed and external requests."""
    page = await new_page(browser, viewport={"width": width, "height": height}, color_scheme=scheme)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    own = url.partition("#")[0]
    page.on("request", lambda request: None if request.url.startswith(own) else problems.append(request.url))
    await page.goto(url)
    return page, problems


async def poor_contrasts(page: Page) -> list[tuple[float, str]]:
    """Texts that are too faint, with their contrast. AssertionError where nothing could be measured."""
    found: list[tuple[float, str]] = await page.evaluate(_CONTRASTS)
    assert found
    return [pair for pair in found if pair[0] < MINIMUM_CONTRAST]


async def keep_picture(page: Page, name: str, **options: Any) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png", **options)
