# Everything that a newcomer, a contributor or CI runs. Each target sets up what it is missing.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := build/.peers
KEEP ?= --keep

.PHONY: run test check accept crash soak tour bench eval dataset fuzz sbom audit boards docs site format lock clean peers
.DEFAULT_GOAL := run
# Packages come before the virtual environment that needs one of them.
.NOTPARALLEL:

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; say which: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "$(PYTHON) cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "compiling, a minute"
	@$(BIN)/python -m ingest.warm_up
	@$(BIN)/python -m analytics.warm_up
	@$(BIN)/python -m simulator.warm_up
	touch $@

$(PEERS): $(wildcard tests/servers/*/install.sh tests/servers/*/package-lock.json tests/servers/*/pom.xml tests/servers/*/go.* tests/servers/packages.sh)
	mkdir -p build
	PYTHON=$(PYTHON) bash tests/servers/packages.sh
	for script in tests/servers/*/install.sh; do bash $$script || exit 1; done
	touch $@

peers: $(PEERS)

# Prometheus 3, which benchmarks write to and are written to by; five minutes.
build/bin/prometheus3: benchmarks/peers/prometheus3/go.sum benchmarks/peers/prometheus3/build.sh
	bash benchmarks/peers/prometheus3/build.sh
	touch $@

# Telegraf, beside which benchmarks read its topics and receive what is pushed; some minutes.
build/bin/telegraf: benchmarks/peers/telegraf/build.sh
	bash benchmarks/peers/telegraf/build.sh
	touch $@

run: $(READY)
	@$(BIN)/fabricscope run

test: $(PEERS) $(READY)
	$(BIN)/python -m pytest -n 3 --dist loadfile

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

accept: $(PEERS) $(READY)
	$(BIN)/python -m tests.acceptance.campaign

crash: $(PEERS) $(READY)
	$(BIN)/python -m tests.acceptance.crash

# How long, such as 10m; without it an hour.
soak: $(PEERS) $(READY)
	$(BIN)/python -m tests.acceptance.soak --duration $(or $(DURATION),1h)

# Writes docs/tour; a quarter of an hour.
tour: $(PEERS) $(READY)
	$(BIN)/python -m tests.acceptance.tour

bench: $(PEERS) $(READY) build/bin/prometheus3 build/bin/telegraf
	$(BIN)/python -m benchmarks

eval: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation

# A labelled set of RoCE counters during faults, as Parquet: build/dataset. Some minutes.
dataset: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.dataset

# DURATION is how long each target runs: 30s, 8h; without it a minute. The same is drawn again with the same SEED. What
# reaches new lines is added to the corpus unless KEEP is empty. atheris guides it by coverage where it has a wheel for this Python.
fuzz: $(READY)
	@$(BIN)/python -c 'import atheris' 2> /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements-fuzz.lock || echo "no atheris for this Python: inputs are not guided by coverage"
	$(BIN)/python -m tests.fuzz $(KEEP) --duration $(or $(DURATION),1m) --seed $(or $(SEED),0)

# What requirements.lock installs, as CycloneDX.
sbom: $(READY)
	mkdir -p build
	$(BIN)/python -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml --mc-type application --output-reproducible --validate --of JSON --sv 1.6 -o build/sbom.json

# Strict: a package of which the index knows nothing was not audited, and that is no pass.
audit: $(READY)
	@$(BIN)/python -m pip_audit --strict --disable-pip --require-hashes -r requirements.lock || { echo "audit: not passed. A package above has a known vulnerability, or https://pypi.org/pypi/NAME/VERSION/json did not answer and nothing is known"; exit 1; }

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

boards: $(READY)
	$(BIN)/python -m dashboards.build deploy/grafana/dashboards
	$(BIN)/python -m dashboards.provisioning deploy/grafana/provisioning
	$(BIN)/python -m dashboards.rules deploy/prometheus/rules

# What of docs/ is generated; the tests compare them.
docs: $(READY)
	$(BIN)/python -m telemetry.catalogue > docs/metrics.md
	$(BIN)/python -m tests.sources > docs/sources.md
	$(BIN)/python -m telemetry.kinds > docs/kinds.md
	$(BIN)/python -m fabricscope.own_metrics > docs/own-metrics.md
	$(BIN)/python -m tests.reliability > docs/reliability.md
	$(BIN)/python -m tests.dependencies > docs/dependencies.md

# The documentation as a site: build/site/index.html. Strict: a link that leads nowhere fails. Its packages have an
# environment of their own, as they would change versions of ours.
SITE := build/site-venv
$(SITE)/.ready: requirements-docs.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

site: $(SITE)/.ready
	$(PYTHON) deploy/site/stage.py build/site-pages
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict --quiet

# From the index alone: what a machine has in folders of its own is not there for others.
LOCK := env -u PIP_FIND_LINKS $(BIN)/pip-compile --quiet --generate-hashes --no-annotate --no-header --no-emit-options --allow-unsafe --strip-extras

lock: $(READY)
	$(LOCK) --build-deps-for wheel --extra dev -o requirements-dev.lock pyproject.toml
	$(LOCK) --build-deps-for wheel --extra snmp --extra nvml -o requirements.lock pyproject.toml
	echo 'atheris>=3' | $(LOCK) -o requirements-fuzz.lock -
	echo 'mkdocs-material>=9.8' | $(LOCK) -o requirements-docs.lock -

clean:
	rm -rf build data $(VENV)
