# `make demo` and `make test` create .venv with what they need, and update it when pyproject.toml changes.

PYTHON ?= python3
BOOTSTRAP ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Stamps of what is installed in .venv: everything for development, or only what the demo needs.
DEV_READY := .venv/dev.stamp
DEMO_READY := .venv/demo.stamp

# Processes that share the tests: those that use clocks, brokers or Spark stay in one of them (tests/conftest.py).
PROCESSES ?= $(if $(KAFKAWIRE_CI),2,1)

VENV_NEWEST := .venv-newest
NEWEST_READY := $(VENV_NEWEST)/test.stamp
NEWEST_TESTS := net config core client sim mockbroker

.PHONY: help demo test test-newest check bench clean
.DELETE_ON_ERROR:

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO_READY) ## Kafka to Spark and back on a mock cluster; BOOTSTRAP=host:port takes a real one
	@$(BIN)/kafkawire demo $(if $(BOOTSTRAP),--bootstrap $(BOOTSTRAP))

test: $(DEV_READY) ## The whole test suite; KAFKAWIRE_CI=1 adds the heavy tests and turns skips for missing tools into failures
	@$(BIN)/python -m pytest $(if $(filter-out 1,$(PROCESSES)),-n $(PROCESSES))

# Interrupts take effect between bytecodes, which differ by Python version. Peers and accelerators may not support the newest yet.
test-newest: ## The client's and the mock broker's tests on the newest Python here, if it is newer than PYTHON
	@newest=$$($(PYTHON) tests/newest_python.py); if [ -z "$$newest" ]; \
	then echo "There is no Python here that is newer than $$($(PYTHON) --version)"; \
	else $(MAKE) --no-print-directory NEWEST="$$newest" $(NEWEST_READY) && env -u KAFKAWIRE_CI $(VENV_NEWEST)/bin/python -m pytest \
		--bare -p no:cacheprovider --ignore-glob='*_peers.py' $(NEWEST_TESTS:%=tests/%); fi

check: $(DEV_READY) ## All static checks: ruff, mypy --strict, who may import whom
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(DEV_READY) ## Throughput against the other Python clients on a real broker
	@$(BIN)/python -m bench

clean: ## Remove the virtual environment and everything built
	@rm -rf .venv $(VENV_NEWEST) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kafkawire needs Python 3.11 or later, this is %s: make PYTHON=python3.x" % sys.version.split()[0])'
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --upgrade pip

# Order-only: pip upgrades itself, and its newer date must not cause another installation.
$(DEV_READY): pyproject.toml | .venv/bin/pip
	@echo "Installing kafkawire and its development tools into .venv"
	@$(PIP) install --editable '.[all,demo]' --group dev
	@touch $(DEMO_READY) $@

$(DEMO_READY): pyproject.toml | .venv/bin/pip
	@echo "Installing kafkawire and what the demo needs into .venv"
	@$(PIP) install --editable '.[demo]'
	@touch $@

$(NEWEST_READY): pyproject.toml
	@echo "Making $(VENV_NEWEST) with $$($(NEWEST) --version)"
	@$(NEWEST) -m venv --clear $(VENV_NEWEST)
	@$(VENV_NEWEST)/bin/python -m pip --quiet --disable-pip-version-check install --upgrade pip
	@$(VENV_NEWEST)/bin/python -m pip --quiet --disable-pip-version-check install --editable . --group test
	@touch $@
