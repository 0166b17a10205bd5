"""How a worked example is read and applied."""

from pathlib import Path

import pytest

from tests.guides.example import Example, Step, apply, read_example, run

PAGE = """\
Some text about `a.py`.

New file `b/c.py`:

```python
X = 1
```

New file `README.md`:

````markdown
```yaml
inside: a block
```
````

In `a.py`:

```diff
 first

+second
@@
-last
+very last
```

```sh
make docs
python -m pytest
```
"""
STEPS = (
    Step("b/c.py", "", "X = 1\n"),
    Step("README.md", "", "```yaml\ninside: a block\n```\n"),
    Step("a.py", "first\n\n", "first\n\nsecond\n"),
    Step("a.py", "last\n", "very last\n"),
)


def test_an_example_has_the_steps_and_commands_of_its_text() -> None:
    example = read_example(PAGE)
    assert example == Example(STEPS, ("make docs", "python -m pytest"))
    assert (example.new, example.edited) == ({"b/c.py", "README.md"}, {"a.py"})


@pytest.mark.parametrize(
    ("markdown", "message"),
    [
        ("```python\nX = 1\n```\n", "a code block that is no step: 'X = 1"),
        ("In `a.py`:\n\n```python\nX = 1\n```\n", "a code block that is no step"),
        ("In `a.py`: text between\n\n```diff\n+X = 1\n```\n", "a code block that is no step"),
        ("In `a.py`:\n\n```diff\nX = 1\n```\n", "a line of a diff begins with"),
    ],
)
def test_a_block_that_nobody_could_follow_is_an_error(markdown: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_example(markdown)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\nb\nc\n", "a\n", "a\nx\n", "a\nx\nb\nc\n"),
        ("a\nb\nc\n", "c\n", "x\nc\n", "a\nb\nx\nc\n"),
        ("a\nb\nc\n", "b\n", "x\n", "a\nx\nc\n"),
        ("  a\na\n", "a\n", "x\n", "  a\nx\n"),  # another indentation is another line
    ],
)
def test_an_edit_replaces_its_lines(before: str, old: str, new: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(before)
    apply([Step("a.py", old, new)], tmp_path)
    assert (tmp_path / "a.py").read_text() == after


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("a.py", "", "X = 1\n"), r"a\.py is there already"),
        (Step("a.py", "twice\n", ""), r"a\.py has these lines 2 times"),
        (Step("a.py", "never\n", ""), r"a\.py has these lines 0 times"),
    ],
)
def test_a_step_that_does_not_fit_is_an_error(step: Step, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("twice\ntwice\n")
    with pytest.raises(ValueError, match=message):
        apply([step], tmp_path)


def test_the_first_command_that_fails_is_reported(tmp_path: Path) -> None:
    assert run(["true", "pwd"], tmp_path) == ""
    assert run(["true", "echo why; exit 3", "exit 4"], tmp_path) == "echo why; exit 3\nwhy\n"
