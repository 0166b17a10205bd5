"""The file of tokens, as the API and commands use it at the same time."""

import json
import stat
from pathlib import Path

import pytest

from common.errors import BadInput, ConfigError
from fabricscope.api.access.token_store import DAY_S, LOCAL, TokenStore
from fabricscope.api.access.tokens import Scope, holder

NS = 1_000_000_000
NOW_NS = 1_700_000_000 * NS
DAY_NS = DAY_S * NS


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "api")


def create(store: TokenStore, name: str = "ci", lasts_s: float = 100.0, now_ns: int = NOW_NS) -> str:
    return store.create(name, [Scope.ACK], lasts_s=lasts_s, now_ns=now_ns)[1]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_another_process_sees_a_token_at_once_and_its_end(store, tmp_path):
    other = TokenStore(tmp_path / "api")
    assert other.load() == ()
    secret = create(store)
    token = holder(other.load(), secret, NOW_NS)
    assert token is not None
    assert (token.name, token.scopes) == ("ci", (Scope.ACK,))
    assert store.revoke(token.id) == (token,)
    assert other.load() == ()


def test_nothing_that_lets_in_is_in_a_file_that_others_can_read(store, tmp_path):
    secret = create(store)
    store.ensure_local(NOW_NS)
    folder = tmp_path / "api"
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == dict.fromkeys(
        ("tokens.json", "tokens.lock", "local.token"), 0o600
    )
    assert secret not in (folder / "tokens.json").read_text()
    assert store.local_file.read_text().strip() not in (folder / "tokens.json").read_text()


def test_two_of_a_name_are_active_and_a_third_is_refused(store):
    first, second = create(store), create(store)
    assert all(holder(store.load(), secret, NOW_NS) for secret in (first, second))
    with pytest.raises(BadInput, match=r"token ci: \w+ and \w+ are active, .*: revoke one first"):
        create(store)
    create(store, name="other")
    after_ns = NOW_NS + 100 * NS
    third = create(store, now_ns=after_ns)  # the two have expired
    assert [token.name for token in store.load()] == ["ci"]
    assert holder(store.load(), third, after_ns)


def test_a_name_revokes_all_of_its_tokens(store):
    for name in ("ci", "ci", "grafana"):
        create(store, name)
    assert [token.name for token in store.revoke("ci")] == ["ci", "ci"]
    assert [token.name for token in store.load()] == ["grafana"]
    with pytest.raises(BadInput, match="no token ci: expected an id or a name"):
        store.revoke("ci")


def test_the_local_token_is_made_once_and_renewed_before_it_expires(store):
    first = store.ensure_local(NOW_NS)
    secret = store.local_file.read_text().strip()
    assert store.ensure_local(NOW_NS + 59 * DAY_NS) == first
    later_ns = NOW_NS + 61 * DAY_NS
    second = store.ensure_local(later_ns)
    assert second != first
    assert holder(store.load(), secret, later_ns) == first, "who has read the file before goes on"
    assert holder(store.load(), store.local_file.read_text().strip(), later_ns) == second
    assert [token.name for token in store.load()] == [LOCAL, LOCAL]


@pytest.mark.parametrize("lost", ["revoked", "deleted", "emptied", "replaced"])
def test_a_local_token_that_is_of_no_use_is_made_again(store, lost):
    before = store.ensure_local(NOW_NS)
    if lost == "revoked":
        store.revoke(LOCAL)
    elif lost == "deleted":
        store.local_file.unlink()
    else:
        store.local_file.write_text("" if lost == "emptied" else "other\n")
    after = store.ensure_local(NOW_NS)
    assert after != before
    assert holder(store.load(), store.local_file.read_text().strip(), NOW_NS) == after
    assert mode(store.local_file) == 0o600


def test_local_tokens_that_are_lost_again_and_again_do_not_pile_up(store):
    for _ in range(10):
        store.ensure_local(NOW_NS)
        store.local_file.unlink()
    assert len(store.load()) == 2


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"tokens": [], "tokens": []}', '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [{}]}'],
)
def test_a_damaged_file_lets_nobody_in_and_names_the_remedy(store, tmp_path, content):
    create(store)
    (tmp_path / "api" / "tokens.json").write_text(content)
    for act in (store.load, lambda: create(store), lambda: store.ensure_local(NOW_NS)):
        with pytest.raises(ConfigError, match=r"tokens\.json: .*move it away"):
            act()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"api\.state_dir .*file/api: .*expected a folder that can be written"):
        TokenStore(tmp_path / "file" / "api").ensure_local(NOW_NS)


def test_the_format_has_a_number(store, tmp_path):
    create(store)
    assert json.loads((tmp_path / "api" / "tokens.json").read_text())["version"] == 1
