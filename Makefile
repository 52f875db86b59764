# One command from a bare clone: `make exp7` sets everything up and runs the main job.

PYTHON ?= python3
CORES  ?= all
VENV   := .venv
BIN    := $(abspath $(VENV))/bin
READY  := $(VENV)/.ready
RUN    := snakemake --cores $(CORES)

export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup all quick ui check format test test-system verify bench schemas gallery clean

help: ## what there is
	@awk -F':.*## ' '/^[a-z%0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv with the pinned dependencies
$(READY): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
	  v >= (3, 11) or sys.exit("error: $(PYTHON) is Python %d.%d; 3.11 or later is needed: make PYTHON=python3.12" % v[:2])'
	@echo "setting up $(VENV) (about two minutes, once)"
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

exp%: setup ## run one study and typeset its report, e.g. make exp7
	$(RUN) reports/$@.pdf

all: setup ## every study of config.yaml
	$(RUN) all

quick: setup ## every study with 2 seeds and short budgets, under build/quick (no evidence)
	$(RUN) all --config scale=quick root=build/quick

ui: setup ## import what is new into MLflow and serve it on 127.0.0.1
	journeylab ui

check: setup ## ruff, mypy, snakefmt, snakemake --lint, import-linter
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint
	lint-imports

format: setup ## format Python and Snakemake files
	ruff check --fix .
	ruff format .
	snakefmt Snakefile workflow

test: setup ## the tests that need nothing but pip
	python -m pytest -m "not system" -n 2 --dist loadgroup

test-system: setup ## the tests that need LaTeX, Chromium …
	python -m pytest -m system

verify: setup ## compare the verdicts of your results with the reference results
	journeylab verify

bench: setup ## benchmarks: a table, build/bench/*.json and cost.pdf; some: ONLY="steps scans"
	python benchmarks/run.py $(if $(ONLY),--only $(ONLY))
	python -m pytest benchmarks/bench_*.py --benchmark-disable-gc --benchmark-json build/bench/forms.json

schemas: setup ## regenerate workflow/schemas from the models
	journeylab schema --output workflow/schemas

gallery: setup ## copy the current reports to docs/gallery, as PDF and PNG
	journeylab gallery

clean: ## remove what quick runs and tools leave behind (never data, results or reports)
	rm -rf build logs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
