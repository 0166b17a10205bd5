"""Boards drawn by Grafana's own code, and what their readers would stumble over."""

import re
from collections.abc import Container, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.servers.chromium import launched_chromium
from tests.servers.grafana_preview import BoardPage, Drawing, DrawnPanel, Link

LEGEND_SHARE_MAX = 0.27  # of its panel: more, and there is no room for the lines
REGIONS_MAX = 3  # annotations over each other: each covers a tenth of the lines below it
_NO_VALUE = "No data"  # what Grafana writes when a board does not say what
_PROMISE = re.compile(r"\b(\d+) (?:at most|\w*est|worst|most)\b|\b(?:\w*est|worst) (\d+)\b")


async def draw_boards(
    documents: Mapping[str, Mapping[str, Any]], page_folder: Path, pictures: Path
) -> dict[str, list[str]]:
    """What is wrong with each of the documents (``board_document``), by uid. Writes ``<uid>.png`` to ``pictures``."""
    async with launched_chromium() as browser:
        page = await BoardPage.open(browser, page_folder)
        drawings = {uid: await page.draw(one, pictures / f"{uid}.png") for uid, one in documents.items()}
    return {uid: faults(drawing, documents[uid], documents) for uid, drawing in drawings.items()}


def faults(drawing: Drawing, document: Mapping[str, Any], boards: Container[str]) -> list[str]:
    """Sentences; none when all is well. document: what was drawn. boards: uids that a link may lead to."""
    uid = document["board"]["uid"]
    found = [f"the page complains: {one}" for one in drawing.complaints]
    found += [f"the page asks for {one}" for one in drawing.requests]
    found += [f"{one} over each other" for one in _overlaps(drawing.panels)]
    found += [f"the board's link {one}" for one in _links(drawing.links, uid, boards)]
    found += _shade(document)
    shown = {panel["id"]: panel for panel in document["board"]["panels"]}
    for panel in drawing.panels:
        about = f"panel {panel.id} ({panel.title!r})"
        found += [f"{about}: {one}" for one in _panel(panel, shown[panel.id], document)]
        found += [f"{about}: link {one}" for one in _links(panel.links, uid, boards)]
    return found


def _panel(panel: DrawnPanel, source: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    if panel.error is not None:
        yield panel.error
        return
    answered = sum(len(answer["result"]) for answer in document["answers"][panel.id])
    no_value = source["fieldConfig"]["defaults"].get("noValue", _NO_VALUE)
    if answered and (not panel.series or (no_value in panel.text.splitlines() and panel.type != "table")):
        yield f"shows {no_value!r}, the query has {answered} series"
    yield from _cuts(panel)
    if panel.legend_share > LEGEND_SHARE_MAX:
        yield f"the legend takes {panel.legend_share:.0%} of it"
    if len(panel.states) > 1 and len(panel.colours) == 1:
        yield f"states {', '.join(panel.states)} have one colour"
    promised = _PROMISE.search(panel.title)
    if promised and max(panel.series.values(), default=0) > int(promised[1] or promised[2]):
        yield f"draws {max(panel.series.values())}"


def _cuts(panel: DrawnPanel) -> Iterator[str]:
    """A list may go on below its panel's edge; a name or a cell must be whole."""
    for cut in panel.cut:
        if cut.part != "body" or cut.side == "width":
            yield f"{cut.part} is cut: {cut.text!r}"


def _overlaps(panels: list[DrawnPanel]) -> Iterator[str]:
    for one, other in combinations(panels, 2):
        left, top, right, bottom = one.box
        if left < other.box[2] and other.box[0] < right and top < other.box[3] and other.box[1] < bottom:
            yield f"panels {one.id} and {other.id}"


def _links(links: list[Link], uid: str, boards: Container[str]) -> Iterator[str]:
    for link in links:
        address = urlsplit(link.address)
        match = re.fullmatch(r"/d/([^/]+)", address.path)
        if match is None or match[1] not in boards:
            yield f"{link.address} leads to no board"
        elif match[1] == uid:
            yield f"{link.address} leads to the board itself"
        filled = parse_qsl(address.query, keep_blank_values=True)
        for name, value in filled:
            if not value or "${" in value or (value.startswith("$") and value != "$__all"):
                yield f"{link.address} leaves {name} open"


def _shade(document: Mapping[str, Any]) -> Iterator[str]:
    regions = [region for annotation in document["annotations"] for region in annotation["regions"]]
    spans = [(region["fromMs"], region["toMs"]) for region in regions if region["toMs"] > region["fromMs"]]
    deepest = max((sum(start <= at < end for start, end in spans) for at, _ in spans), default=0)
    if deepest > REGIONS_MAX:
        yield f"{deepest} annotations cover the lines at once"
