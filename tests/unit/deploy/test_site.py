"""What the site of the documentation is built from. `make site` builds it, and fails for a link that leads nowhere."""

import re
from pathlib import Path

from deploy.site.stage import linked, pages, stage

ROOT = Path(__file__).parents[3]
SITE = (ROOT / "mkdocs.yml").read_text()
NAV = re.findall(r"^ +- (?:\w+: )?(\S+\.md)$", SITE.partition("\nnav:")[2], re.MULTILINE)


def test_the_menu_has_pages_that_are_there() -> None:
    assert len(NAV) > 30
    assert {Path(name) for name in NAV} - {*pages()} == set()


def test_every_guide_is_in_the_menu() -> None:
    """But for what is reached through another page."""
    guides = {page.as_posix() for page in pages() if page.parent == Path("docs")}
    assert guides - {*NAV} == set()


def test_a_page_brings_what_it_shows_and_links_to(tmp_path: Path) -> None:
    page = ROOT / "docs" / "noc-page.md"
    targets = {*linked(page.relative_to(ROOT))}
    assert targets
    stage(tmp_path / "pages")
    for path in (Path("README.md"), page.relative_to(ROOT), *targets):
        assert (tmp_path / "pages" / path).read_bytes() == (ROOT / path).read_bytes()
    assert not (tmp_path / "pages" / "tests" / "data" / "samples" / "SOURCES.md").exists()
