"""Spellings of the release before."""

import pytest

from fabricscope.arguments.old_spelling import new_spelling, rename_variables


@pytest.mark.parametrize(
    ("typed", "written", "hints"),
    [
        (["run", "--config", "a.yaml"], ["run", "--config", "a.yaml"], []),
        (["run", "--config.file", "a.yaml"], ["run", "--config", "a.yaml"], ["--config.file is now --config"]),
        (["api", "--config.file=a"], ["api", "--config=a"], ["--config.file is now --config"]),
        (["simulate", "--config.out", "a"], ["simulate", "--config-out", "a"], ["--config.out is now --config-out"]),
        (["--log.level", "warn", "api"], ["--log-level", "warn", "api"], ["--log.level is now --log-level"]),
        (["--log.format=json", "api"], ["--log-format=json", "api"], ["--log.format is now --log-format"]),
        (["announce", "drain"], ["change", "add", "drain"], ["announce is now change add"]),
        (
            ["--log.level", "warn", "announce", "drain"],
            ["--log-level", "warn", "change", "add", "drain"],
            ["--log.level is now --log-level", "announce is now change add"],
        ),
        (["record", "announce"], ["record", "announce"], []),  # a folder of that name
        (["detect", "--", "--config.file"], ["detect", "--", "--config.file"], []),  # a file of that name
        ([], [], []),
    ],
)
def test_old_names_are_replaced_each_with_a_hint(typed, written, hints):
    assert new_spelling(typed) == (written, hints)


def test_an_old_variable_moves_to_its_new_name():
    environment = {"FABRICSCOPE_CONFIG_FILE": "a.yaml", "HOME": "/root"}
    assert rename_variables(environment) == ["FABRICSCOPE_CONFIG_FILE is now FABRICSCOPE_CONFIG"]
    assert environment == {"FABRICSCOPE_CONFIG": "a.yaml", "HOME": "/root"}


def test_a_new_variable_wins_over_the_old_one():
    environment = {"FABRICSCOPE_CONFIG_FILE": "old.yaml", "FABRICSCOPE_CONFIG": "new.yaml"}
    rename_variables(environment)
    assert environment == {"FABRICSCOPE_CONFIG": "new.yaml"}


def test_without_old_variables_nothing_changes():
    environment = {"FABRICSCOPE_CONFIG": "new.yaml"}
    assert rename_variables(environment) == []
    assert environment == {"FABRICSCOPE_CONFIG": "new.yaml"}
