# make demo and make test need Python 3.11 or newer, git and make, nothing else.
# Every target can be run again: what is done already is not done twice.

PYTHON ?= python3
PYTEST_ARGS ?= -q
BENCH_ARGS ?=
PEERS_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WEIGHTS := smollm2-135m

.PHONY: help demo test check fix bench bench-peers faults reference setup schemas requirements
.DEFAULT_GOAL := help

help:
	@echo "make demo          set up, then score bundled runs with the embedded judge (no key, no network after setup)"
	@echo "make test          set up, then run every test"
	@echo "make check         lint, format check, types"
	@echo "make fix           repair lint and format"
	@echo "make bench         speed and memory, as ratios (BENCH_ARGS=--quick for a short run, --full for a million results)"
	@echo "make bench-peers   the same work by other libraries beside ours, as ratios (PEERS_ARGS=\"--count 256\" for a short run)"
	@echo "make reference     run the reference systems and print their four tables"
	@echo "make faults        make every fault that a batch survives happen, and print what was counted"
	@echo "make schemas       write docs/schemas again from the types"
	@echo "make requirements  pin requirements/*.txt again, with hashes"

demo: $(VENV)/.ready-local
	@echo "==> weights of the embedded judge"
	@$(BIN)/judge models pull $(WEIGHTS)
	@echo "==> judge demo"
	@$(BIN)/judge demo

test: setup
	@echo "==> weights of the embedded judge"
	@$(BIN)/judge models pull $(WEIGHTS)
	@echo "==> tests"
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

setup: $(VENV)/.ready-dev

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	@echo "==> benchmarks"
	@$(BIN)/python bench/judging.py $(BENCH_ARGS)

bench-peers: setup
	@$(BIN)/python bench/peers.py $(PEERS_ARGS)

reference: setup
	@$(BIN)/python scripts/reference.py

faults: setup
	@$(BIN)/python scripts/faults.py

schemas: setup
	$(BIN)/python scripts/write_schemas.py

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make requirements"

requirements: setup
	$(COMPILE) pyproject.toml requirements/build.in --extra local --extra dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml requirements/build.in --extra local -c requirements/dev.txt -o requirements/local.txt
	$(COMPILE) pyproject.toml -c requirements/dev.txt -o requirements/runtime.txt
	$(COMPILE) bench/peers/requirements.in -o bench/peers/requirements.txt

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "trajudge needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@echo "==> virtual environment in $(VENV) ($$($(PYTHON) --version))"
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) has no working venv module. On Debian or Ubuntu: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/.ready-local: requirements/local.txt pyproject.toml | $(BIN)/python
	@echo "==> installing requirements/local.txt (pinned, hashes checked)"
	@$(PIP) install --require-hashes -r requirements/local.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.ready-dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "==> installing requirements/dev.txt (pinned, hashes checked)"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.ready-local
