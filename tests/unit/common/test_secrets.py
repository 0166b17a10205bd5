"""Secrets in files."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from common import secrets
from common.errors import Unavailable
from common.secrets import BasicAuth, bearer, read_secret, read_secret_text


def file_with(folder: Path, content: bytes) -> Path:
    file = folder / "secret"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"s3cret", b"s3cret"),
        (b" s3cret\r\n", b"s3cret"),
        (b"two words\n", b"two words"),
        (b"\xff\x00key\n", b"\xff\x00key"),
    ],
)
def test_the_content_counts_without_white_space_around_it(tmp_path, content, expected):
    assert read_secret(file_with(tmp_path, content)) == expected


@pytest.mark.parametrize("content", [b"", b"\n", b" \t\r\n"])
def test_an_empty_file_is_in_rotation(tmp_path, content):
    file = file_with(tmp_path, content)
    with pytest.raises(Unavailable, match=f"^secret file {file} is empty$"):
        read_secret(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(Unavailable, match=f"^secret file {tmp_path}/none: No such file or directory$"):
        read_secret(tmp_path / "none")
    with pytest.raises(Unavailable, match=f"^secret file {tmp_path}: Is a directory$"):
        read_secret(tmp_path)


def test_text_is_utf8_and_what_is_not_is_never_shown(tmp_path):
    assert read_secret_text(file_with(tmp_path, "pässword\n".encode())) == "pässword"
    file = file_with(tmp_path, b"canary\xff4711")
    with pytest.raises(Unavailable, match=f"^secret file {file} is not UTF-8 text$") as error:
        read_secret_text(file)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__, "a traceback would show the bytes"


def test_a_file_without_an_end_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(secrets, "SECRET_BYTES_MAX", 4)
    assert read_secret(file_with(tmp_path, b"123456")) == b"1234"


def test_headers_carry_what_the_files_hold_at_that_moment(tmp_path):
    file = file_with(tmp_path, "pässword\n".encode())
    basic = BasicAuth(username="me", password_file=file)
    assert basic.authorization() == "Basic bWU6cMOkc3N3b3Jk"  # base64 of me:pässword
    assert bearer(file) == "Bearer pässword"
    file.write_text("rotated")
    assert basic.authorization() == "Basic bWU6cm90YXRlZA=="
    assert bearer(file) == "Bearer rotated"


def test_the_settings_take_no_password_in_line():
    with pytest.raises(ValidationError, match="Extra inputs"):
        BasicAuth.model_validate({"username": "me", "password": "s3cret", "password_file": "/x"})
