# make train   install if needed, train on two CPU cores, evaluate, draw pictures, write predicted meshes
# make brackets, make bodies, make plates   the same in 3D: solve the cases too, an hour or more
# make test    install if needed, run the tests
# make lint    style, types and the direction of imports
# make extensions  build torch-scatter and torch-cluster, which are used on GPUs; nothing needs them
# make docs    build the site in build/docs: all pages, the API reference and the gallery, whose programs run (minutes)
# make compare train models over several seeds on one budget and write the README's table
# make clean   remove caches (kept: .venv, runs/ and data)
#
# PYTHON   the interpreter that .venv is made with, 3.10 to 3.13
# TORCH    the torch that is installed, one requirement for pip
# JOBS     files compiled at a time by 'make extensions'; each takes about 1 GB of memory
# MODELS   what 'make compare' trains, names with commas, or all
# BUDGET   what each of them may use, as in 4min or 50epochs
# OUTPUT   the folder of 'make compare', if not runs/compare_elasticity_quick; as in: make compare OUTPUT=runs/other

PYTHON ?= python3
TORCH ?= torch==2.13.0
CONFIG := configs/elasticity_quick.toml
RUN := runs/quick
MODELS ?= pit,mlp
BUDGET ?= 4min
OUTPUT ?=

VENV := .venv
RUNPY := $(VENV)/bin/python
PIP := $(RUNPY) -m pip --disable-pip-version-check

.PHONY: train brackets bodies plates test lint docs compare setup docs-setup extensions clean
.DELETE_ON_ERROR:

train: setup
	$(RUNPY) scripts/train.py $(CONFIG) --output "$(RUN)" $$(test ! -e "$(RUN)/last.ckpt" || echo --resume)
	$(RUNPY) scripts/predict.py "$(RUN)/best.ckpt" "$(RUN)/meshes/*.vtu" --output "$(RUN)/predicted"

# The whole chain of a data set in 3D: solve, train, evaluate, draw, predict.
define chain
$(RUNPY) datasets/$(1)/generate.py
$(RUNPY) scripts/train.py configs/$(1).toml --output runs/$(1) $$(test ! -e runs/$(1)/last.ckpt || echo --resume)
$(RUNPY) scripts/predict.py runs/$(1)/best.ckpt "runs/$(1)/meshes/*" --output runs/$(1)/predicted
endef

brackets: setup
	$(call chain,brackets)

bodies: setup
	$(call chain,bodies)

plates: setup
	$(call chain,plates)

test: setup
	$(RUNPY) -m pytest

lint: setup
	$(RUNPY) -m ruff check
	$(RUNPY) -m ruff format --check
	$(RUNPY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

docs: docs-setup
	$(RUNPY) -m sphinx -W --keep-going -b html docs build/docs
	$(RUNPY) -m sphinx -W --keep-going -b linkcheck -D plot_gallery=0 -q docs build/links
	@echo "The site: build/docs/index.html"

compare: setup
	$(RUNPY) scripts/compare.py $(CONFIG) --models $(MODELS) --seeds 3 --budget $(BUDGET) $(if $(OUTPUT),--output $(OUTPUT))

clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find pitgeo tests scripts datasets -name __pycache__ -type d -prune -exec rm -rf {} +

# The installation, one step a stamp. Nothing is compiled: torch comes as a wheel, and pitgeo is Python alone.

VENV_MADE := $(VENV)/.made
TORCH_INSTALLED := $(VENV)/.installed-$(subst =,-,$(TORCH))
PACKAGE_INSTALLED := $(VENV)/.installed-pitgeo

setup: $(PACKAGE_INSTALLED)

$(VENV_MADE):
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "Expected $(PYTHON) to be Python 3.10 to 3.13 (got $$($(PYTHON) --version 2>/dev/null || echo nothing that runs));" \
	    "name another one, as in: make $(or $(MAKECMDGOALS),train) PYTHON=python3.12" >&2; exit 1; }
	@echo "1 of 3: a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(TORCH_INSTALLED): $(VENV_MADE)
	@echo "2 of 3: torch"
	$(PIP) install --progress-bar on $(TORCH)
	@rm -f $(VENV)/.installed-torch*
	@touch $@

$(PACKAGE_INSTALLED): pyproject.toml $(TORCH_INSTALLED)
	@echo "3 of 3: pitgeo and what it needs"
	$(PIP) install --progress-bar on -e '.[dev]'
	@touch $@

DOCS_INSTALLED := $(VENV)/.installed-docs

docs-setup: $(DOCS_INSTALLED)

$(DOCS_INSTALLED): $(PACKAGE_INSTALLED)
	$(PIP) install --progress-bar on -e '.[docs]'
	@touch $@

# torch-scatter and torch-cluster, which pitgeo uses on GPUs where they are installed. They are compiled for the torch that
# is there: about 20 minutes of CPU time. setuptools builds extension modules side by side when a configuration file says
# so; with CUDA sources it must not, since torch then swaps the one compiler object to and fro.
COUNT_JOBS := import os, torch; print(1 if torch.cuda.is_available() or os.getenv("FORCE_CUDA") == "1" else os.cpu_count())
JOBS = $(shell $(RUNPY) -c '$(COUNT_JOBS)')
INSTALL_EXTENSIONS = DIST_EXTRA_CONFIG="$(CURDIR)/$(VENV)/build.cfg" \
  $(PIP) install --no-build-isolation torch-scatter torch-cluster
TRY_EXTENSIONS := import torch, torch_cluster, torch_scatter; \
  torch_cluster.fps(torch.eye(3)); torch_scatter.segment_csr(torch.ones(3), torch.tensor([0, 3]))

extensions: setup
	@printf '[build_ext]\nparallel = %s\n' $(JOBS) | tee $(VENV)/build.cfg | sed -n 's/parallel = /Files compiled at a time: /p'
	@echo "Building torch-scatter and torch-cluster: about 20 minutes of CPU time, once (pip keeps the wheels)."
	$(PIP) install ninja setuptools wheel
	$(INSTALL_EXTENSIONS) || { \
	  echo "They could not be built: the reason is above; they need a C++ compiler, g++ or clang++." >&2; exit 1; }
	@$(RUNPY) -W ignore -c '$(TRY_EXTENSIONS)' || { \
	  echo "The wheels that pip had kept do not fit this torch: building them again."; \
	  $(INSTALL_EXTENSIONS) --force-reinstall --no-cache-dir --no-deps && $(RUNPY) -W ignore -c '$(TRY_EXTENSIONS)'; }
