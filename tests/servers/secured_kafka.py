"""Kafka as docker-compose.secure.yml runs it: its settings and its scripts, on this machine.

Nobody has rights before ``deploy.compose.grant_rights.grant``.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from bus.config import KafkaConfig
from tests.servers.kafka import INSTALL, JAVA, SHIPPED, TEST_TIMES, KafkaServer, shipped_settings

_IN_CONTAINERS = "/run/secrets"
# What the scripts of Kafka's distribution run, which the jars come without.
_PROGRAMS = {"kafka-storage.sh": "kafka.tools.StorageTool", "kafka-server-start.sh": "kafka.Kafka"}


class SecuredKafka(KafkaServer):
    """One broker with TLS, a user for each stage, and StandardAuthorizer.

    config(user): the bus settings of a stage; "admin" is the super user.
    """

    def __init__(self, folder: Path | str) -> None:
        super().__init__(folder)
        self._tls = True

    @property
    def secrets(self) -> Path:
        """The folder that ``make_secrets.sh`` has filled."""
        return self.folder / "secrets"

    def config(self, user: str, **changes: object) -> KafkaConfig:
        return KafkaConfig.model_validate(
            {
                "bootstrap": (self.address,),
                "security": "sasl_tls",
                "ca_file": self.secrets / "ca.pem",
                "username": user,
                "password_file": self.secrets / f"{user}.password",
                **changes,
            }
        )

    def shipped_bus_settings(self) -> dict[str, Any]:
        """The section ``bus`` of the settings that compose mounts, for this machine; see ``environment``."""
        bus: dict[str, Any] = yaml.safe_load((SHIPPED.parent / "fabricscope.secure.yaml").read_text())["bus"]
        bus["kafka"] |= {"bootstrap": [self.address], "ca_file": str(self.secrets / "ca.pem")}
        return bus

    def environment(self, stage: str) -> dict[str, str]:
        """The variables of a stage: its user, as in compose, and where its password is."""
        prefix = "FABRICSCOPE__BUS__KAFKA__"
        password = self.secrets / f"{stage}.password"
        return {f"{prefix}USERNAME": stage, f"{prefix}PASSWORD_FILE": str(password)}

    def start(self) -> None:
        subprocess.run([INSTALL, self.version], check=True)
        settings = self.folder / "server.properties"
        if not settings.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            subprocess.run([SHIPPED.parent / "make_secrets.sh", self.secrets], check=True)
            settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
            self._write_programs()
        environment = os.environ | {
            "KAFKA_HOME": str(self.folder),
            "SECRETS": str(self.secrets),
            "KAFKA_OPTS": f"-Djava.security.auth.login.config={self.secrets / 'jaas.conf'}",
        }
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [SHIPPED / "start.sh", settings], stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self._wait_until_it_answers()

    def _signal(self, number: int) -> None:
        """To the script and to what it runs: until the broker itself does, these are two processes."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _settings(self) -> dict[str, str]:
        shipped = shipped_settings("secure.properties")
        here = {name: value.replace(_IN_CONTAINERS, str(self.secrets)) for name, value in shipped.items()}
        return {**here, **self._places("SASL_SSL"), **TEST_TIMES}

    def _write_programs(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        for name, main in _PROGRAMS.items():
            words = " ".join([*JAVA, "$KAFKA_OPTS", "-cp", f"'{self.libs}'", main])
            (programs / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (programs / name).chmod(0o755)
