"""Rules about data links: each leads to another board, fills variables that it has, by labels that the series has."""

import re
from collections.abc import Iterator
from typing import Any

from dashboards.expressions import GROUPING
from dashboards.model import Show

_URL = re.compile(r"^/d/([^?]+)\?")
_FILLED = re.compile(r"&var-(\w+)=\$\{__(field\.labels|data\.fields)\.(\w+):percentencode\}")
_OPEN = re.compile(r"&var-(\w+)=\$\{__(?:field\.labels|data\.fields)\.\w+\}")
_WITHOUT_LABELS = re.compile(r"\(*(?:sum|avg|count|min|max)\s*\(")
_FIELD = re.compile(r"\$\{__data\.fields\.(\w+)(?::percentencode)?\}")
_BY_COLUMN = re.compile(r"^\$\{__data\.fields\.(\w+)\}$")


def complain_about_links(boards: list[dict[str, Any]]) -> Iterator[str]:
    """All links of all panels."""
    variables = {board["uid"]: {each["name"] for each in board["templating"]["list"]} for board in boards}
    for board in boards:
        for panel in board["panels"]:
            for complaint in _links(panel, board["uid"], variables):
                yield f"{board['uid']} panel {panel['id']}: {complaint}"


def _links(panel: dict[str, Any], own: str, variables: dict[str, set[str]]) -> Iterator[str]:
    links = panel["fieldConfig"]["defaults"].get("links", [])
    if not links:
        yield "no link to another board"
    for link in links:
        address = _URL.match(link["url"])
        if address is None or "${__url_time_range}" not in link["url"]:
            yield f"expected a link /d/uid? with ${{__url_time_range}}: {link['url']}"
            continue
        for variable in _OPEN.findall(link["url"]):
            yield f"its link fills ${variable} with a value that may hold an &, expected :percentencode"
        for label in _FIELD.findall(link["url"]):
            if label in _mapped(panel):
                yield f"its link takes the text that {label} is mapped to, and not its value"
        for uid in _boards(panel, address[1]):
            if uid == own:
                yield "its link leads to its own board"
            elif uid not in variables:
                yield f"its link leads to {uid}, which is no board"
            else:
                yield from _filled(panel, link["url"], uid, variables[uid])


def _boards(panel: dict[str, Any], address: str) -> list[str]:
    """The boards that an address can lead to: one, or those that a query writes into a column."""
    column = _BY_COLUMN.match(address)
    if column is None:
        return [address]
    written = re.compile(rf'"{column[1]}", "([^"$]+)"')
    return [uid for target in panel["targets"] for uid in written.findall(target["expr"])] or [address]


def _filled(panel: dict[str, Any], url: str, uid: str, variables: set[str]) -> Iterator[str]:
    for variable, source, label in _FILLED.findall(url):
        if variable not in variables:
            yield f"its link fills ${variable}, which {uid} does not have"
        elif (source == "data.fields") is not (panel["type"] == Show.TABLE):
            yield f"its link takes {label} from {source}, expected the other of labels (lines) and fields (tables)"
        elif label not in _labels_of(panel, label):
            yield f"its link needs the label {label}, which its series do not have"


def _mapped(panel: dict[str, Any]) -> set[str]:
    """Labels whose cells have texts instead of their values: Grafana fills links with these texts."""
    renamed = [one["options"].get("renameByName", {}) for one in panel.get("transformations", [])]
    labels = {heading: label for names in renamed for label, heading in names.items()}
    overrides = panel["fieldConfig"].get("overrides", [])
    mapped = (one for one in overrides if any(each["id"] == "mappings" for each in one["properties"]))
    return {labels.get(one["matcher"]["options"], "") for one in mapped}


def _labels_of(panel: dict[str, Any], label: str) -> set[str]:
    """Labels of the drawn series: the columns of a table; of lines, what their queries group by."""
    if panel["type"] == Show.TABLE:
        shown = panel["transformations"][0]["options"]["include"]["names"]
        return set(shown)
    if all(_WITHOUT_LABELS.match(target["expr"]) for target in panel["targets"]):
        return set()
    groupings = [GROUPING.findall(target["expr"]) for target in panel["targets"][:1]]
    grouped = {name.strip() for each in groupings for group in each for name in group.split(",")}
    return grouped or {label}  # without a grouping the series keep all their labels
