# Everything that a newcomer, a contributor or CI runs. Each target sets up what it is missing.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := build/.peers

.PHONY: run test check accept crash bench boards metrics format lock clean peers
.DEFAULT_GOAL := run

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say which: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(PEERS): $(wildcard tests/servers/*/install.sh tests/servers/*/pom.xml tests/servers/*/go.* tests/servers/packages.sh)
	mkdir -p build
	bash tests/servers/packages.sh
	for script in tests/servers/*/install.sh; do bash $$script || exit 1; done
	touch $@

peers: $(PEERS)

run: $(READY)
	@$(BIN)/fabricscope run

test: $(READY) $(PEERS)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

accept: $(READY) $(PEERS)
	$(BIN)/python -m tests.acceptance.campaign

crash: $(READY) $(PEERS)
	$(BIN)/python -m tests.acceptance.crash

bench: $(READY) $(PEERS)
	$(BIN)/python -m benchmarks

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

boards: $(READY)
	$(BIN)/python -m dashboards.build deploy/grafana/dashboards

metrics: $(READY)
	$(BIN)/python -m telemetry.catalogue > docs/metrics.md

lock:
	$(BIN)/pip-compile --quiet --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links --extra dev --allow-unsafe --strip-extras -o requirements.lock pyproject.toml

clean:
	rm -rf build data $(VENV)
