"""The collection of hostile texts itself: enough of them, of every category, and no two the same."""

import pytest

from tests.hostile_texts import CATEGORIES, HOSTILE_TEXTS, WELL_FORMED, joined

# What makes a text one of its category, by an example that must be there.
EXAMPLES = {
    "HTML": "<script>",
    "commands of a terminal": "\x1b]0;",
    "direction and other marks of Unicode": "\u202e",
    "templates and shells": "$(id)",
    "quotes and operators of queries": 'leaf1"} or',
    "markup of chats": "<!channel>",
    "formulas of spreadsheets": "=HYPERLINK(",
    "other types": "__proto__",
    "long": "x" * 100_000,
}


def test_there_are_200_at_least_and_all_differ():
    assert len(HOSTILE_TEXTS) >= 200
    assert len(set(HOSTILE_TEXTS)) == len(HOSTILE_TEXTS)
    assert len(HOSTILE_TEXTS) - len(CATEGORIES["HTML"]) >= 100


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_has_several(category):
    assert len(CATEGORIES[category]) >= 5
    assert any(EXAMPLES[category] in text for text in CATEGORIES[category])


def test_joined_leaves_none_out():
    texts = joined(1000)
    assert max(map(len, texts)) <= 1000
    assert all(any(text[:100] in one for one in texts) for text in WELL_FORMED)
