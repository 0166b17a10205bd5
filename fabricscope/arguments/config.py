"""``fabricscope config print``: a settings file with every key, its default and its meaning."""

import typer


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Settings.", no_args_is_help=True)
    group.command("print")(print_config)
    app.add_typer(group, name="config")


def print_config() -> None:
    """Print all settings with their defaults and meanings, as YAML."""
    from fabricscope.commands.print_config import settings_text

    print(settings_text())
