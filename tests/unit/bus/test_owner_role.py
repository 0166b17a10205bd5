"""Which processes have the same role."""

import socket
from pathlib import Path

import pytest

from bus.owner import role
from bus.owner.role import Role, role_of, with_contents


def test_the_same_destination_is_one_role_and_its_name_shows_nothing_of_it():
    made = role_of("alerts", {"url": "https://pager/secret-path", "to": ["a", "b"]})
    assert made == role_of("alerts", {"to": ["a", "b"], "url": "https://pager/secret-path"})
    assert made.name == f"alerts-{made.digest}"
    assert len(made.digest) == 16
    assert "secret" not in made.name
    assert Role("analytics").name == "analytics"


@pytest.mark.parametrize(
    ("stage", "destination"),
    [
        ("alerts", {"url": "https://other"}),
        ("alerts", {"url": ["https://pager"]}),
        ("export", {"url": "https://pager"}),
    ],
)
def test_another_destination_or_stage_is_another_role(stage, destination):
    assert role_of(stage, destination) != role_of("alerts", {"url": "https://pager"})


@pytest.mark.parametrize(
    ("address", "is_this_machine"),
    [
        ("http://127.0.0.1:9093", True),
        ("http://localhost:9093/api", True),
        ("http://[::1]:9093", True),
        ("http://10.127.0.1", False),
        ("http://[2001:db8::1]:80", False),
        ("http://localhosts.example", False),
    ],
)
def test_the_loopback_is_that_of_each_machine(monkeypatch, address, is_this_machine):
    here = role_of("alerts", {"url": address})
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    assert (role_of("alerts", {"url": address}) != here) == is_this_machine


def test_files_of_secrets_count_by_their_content(tmp_path: Path):
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for file, text in ((one, "https://pager\n"), (same, "https://pager"), (other, "https://other")):
        file.write_text(text)

    def settings(file: Path) -> dict[str, object]:
        return {"url_file": str(file), "ca_file": str(file), "nested": {"password_file": str(file)}, "name": "x"}

    expected = {"url_file": "https://pager", "nested": {"password_file": "https://pager"}, "name": "x"}
    assert with_contents(settings(one)) == with_contents(settings(same)) == expected
    assert with_contents(settings(other)) != expected
    missing = str(tmp_path / "missing")
    assert with_contents({"url_file": missing, "bearer_token_file": None}) == {
        "url_file": missing,
        "bearer_token_file": None,
    }


def test_a_guess_at_what_was_hashed_is_not_cheap():
    """The parameters of RFC 7914 for interactive use."""
    assert (role._SCRYPT_COST, role._SCRYPT_BLOCK, role._SCRYPT_PARALLEL) == (2**14, 8, 1)
