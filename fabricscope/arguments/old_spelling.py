"""Names of the release before: understood for one more release, each with a hint, and shown in no help."""

from collections.abc import MutableMapping, Sequence

OPTIONS = {
    "--config.file": "--config",
    "--config.out": "--config-out",
    "--log.level": "--log-level",
    "--log.format": "--log-format",
}
COMMANDS = {"announce": ("change", "add")}
VARIABLES = {"FABRICSCOPE_CONFIG_FILE": "FABRICSCOPE_CONFIG"}


def new_spelling(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments as they are written today, and a hint for each that was not.

    >>> new_spelling(["ingest", "--config.file=pod1.yaml"])
    (['ingest', '--config=pod1.yaml'], ['--config.file is now --config'])
    """
    written: list[str] = []
    hints: list[str] = []
    command_seen = False
    for position, argument in enumerate(arguments):
        if argument == "--":
            written += arguments[position:]
            break
        name, equals, value = argument.partition("=")
        if name in OPTIONS:
            hints.append(f"{name} is now {OPTIONS[name]}")
            argument = OPTIONS[name] + equals + value
        elif argument in COMMANDS and not command_seen:
            hints.append(f"{argument} is now {' '.join(COMMANDS[argument])}")
            written += COMMANDS[argument]
            command_seen = True
            continue
        command_seen = command_seen or not (argument.startswith("-") or _is_value(written))
        written.append(argument)
    return written, hints


def rename_variables(environment: MutableMapping[str, str]) -> list[str]:
    """Moves old environment variables to their new names, unless those are set; a hint for each."""
    hints = []
    for old, new in VARIABLES.items():
        if old in environment:
            hints.append(f"{old} is now {new}")
            environment.setdefault(new, environment.pop(old))
    return hints


def _is_value(written: Sequence[str]) -> bool:
    """Whether the next argument belongs to the option before: each option before the command has one."""
    return bool(written) and written[-1] in ("--log-level", "--log-format")
