"""What stands in a terminal at the end, for its picture."""

from tests.acceptance.run_picture import lines_of, picture_of


def test_a_status_line_that_was_written_over_is_gone():
    written = "begin\r\n1 s\r\x1b[2K2 s\r\x1b[2K\x1b[1A\x1b[2Kdone\r\n\x1b[32m3 s\x1b[0m\r\n\r\n"
    assert lines_of(written) == ["done", "\x1b[32m3 s\x1b[0m"]
    assert lines_of("1 s, waits\r\n \r\x1b[1A\x1b[2K2 s\r\n") == ["2 s"]
    assert lines_of("") == []


def test_the_picture_has_the_command_and_its_lines():
    svg = picture_of("fabricscope run", ["\x1b[1mFabricscope\x1b[0m", "a < b"])
    for text in ("fabricscope", "Fabricscope", "&lt;"):
        assert text in svg
