# What can be done with this checkout. `make` lists it.
#
# Everything that is installed goes to .tools, everything that is made goes to build; see tools/env for how the
# notebooks' programs are kept apart from the user's own Jupyter.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
# The steps share the machine's cores and print progress: one after the other, also under -j.
.NOTPARALLEL:
.DEFAULT_GOAL := help

PYTHON ?= python3
export PYTHON

NOTEBOOK := tools/env python tools/notebook.py
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
# PNG figures that a notebook has to show at least.
EXPECT_PNG ?= 1
# Seconds that a cell may take in `make test`; the first cells may compile.
TEST_TIMEOUT ?= 900

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

# --- the main job

.PHONY: run
run: setup ## set up, then run notebooks/quickstart.ipynb and write build/quickstart.html
	@echo "== running notebooks/quickstart.ipynb"
	@$(NOTEBOOK) run notebooks/quickstart.ipynb --out build --html build --expect-png $(EXPECT_PNG) --summary

.PHONY: lab
lab: setup gopls ## open the notebooks in JupyterLab (LAB_ARGS=... for its options)
	@tools/env python -m jupyter trust notebooks/*.ipynb >/dev/null
	@echo "== JupyterLab; stop it with Ctrl-C"
	@tools/env python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \
		--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None \
		--ServerApp.root_dir="$(CURDIR)" $(LAB_ARGS) notebooks/quickstart.ipynb

# --- tests

.PHONY: test
test: setup ## go vet, go test, then all experiments and notebooks at a small scale
	@echo "== go vet ./..."
	@go vet ./...
	@echo "== go test ./..."
	@go test -timeout 30m ./...
	@echo "== tests of the tools"
	@$(PYTHON) -m unittest -q tools/test_*.py
	@rm -rf build/experiments/smoke
	@$(MAKE) --no-print-directory experiments SCALE=smoke
	@$(MAKE) --no-print-directory smoke
	@echo "make test: all passed"

# The runs of a small scale lie apart from the real ones and are made anew each time, but for those of the experiments.
.PHONY: smoke
smoke: setup
	@echo "== running $(words $(NOTEBOOKS)) notebooks at a small scale, two side by side"
	@if [[ ! -e build/experiments/smoke/plan.jsonl ]]; then $(MAKE) --no-print-directory experiments SCALE=smoke; fi
	@rm -rf build/smoke
	@QDNB_EXPERIMENTS=$(CURDIR)/build/experiments/smoke $(NOTEBOOK) run $(NOTEBOOKS) --smoke --jobs 2 --runs build/smoke/runs --out build/smoke \
		--timeout $(TEST_TIMEOUT) --expect-png $(EXPECT_PNG)

.PHONY: test-long
test-long: setup ## the tests that train for hours, all notebooks at full scale, and screenshots
	@echo "== go test ./... with QDNB_LONG=1"
	@QDNB_LONG=1 go test -timeout 0 -v ./...
	@echo "== running $(words $(NOTEBOOKS)) notebooks"
	@$(NOTEBOOK) run $(NOTEBOOKS) --out build --html build --expect-png $(EXPECT_PNG)
	@$(MAKE) --no-print-directory screenshots
	@echo "make test-long: all passed"

.PHONY: test-faults
test-faults: check compile plugin ## kill, fill disks, damage files: what docs/faults.md lists (as root, or disks are left out)
	@echo "== go test ./internal/faults with QDNB_FAULTS=1"
	@QDNB_FAULTS=1 go test -count 1 -timeout 2h -v ./internal/faults
	@echo "make test-faults: all passed"

.PHONY: test-determinism
test-determinism: check compile plugin ## train everything twice, with one worker and with all: the same bytes (docs/determinism.md)
	@echo "== go test ./internal/faults with QDNB_DETERMINISM=1"
	@QDNB_DETERMINISM=1 go test -count 1 -timeout 2h -v -run TestSameBytes ./internal/faults
	@echo "make test-determinism: all passed"

.PHONY: race
race: check ## the race detector on all that does without GoMLX
	@go test -race -short -count 1 -timeout 30m ./internal/cell/... ./internal/limits ./internal/names ./internal/npz/... ./qdnb/paper/claims ./qdnb/plot/figures \
		./qdnb/paper ./qdnb/paper/results ./qdnb/runs ./qdnb/plot/scene ./qdnb/stats ./qdnb/paper/sweep ./qdnb/plot/tables ./qdnb/plot/viewer

.PHONY: coverage
coverage: check compile plugin ## how much of the code that builds no graphs the tests run: 80 % of it, or it is an error
	@rm -rf build/coverage && mkdir -p build/coverage/processes
	@QDNB_COVERAGE=$(CURDIR)/build/coverage/processes go test -timeout 2h -coverpkg=./... -coverprofile=build/coverage/profile ./...
	@$(PYTHON) tools/coverage.py build/coverage/profile build/coverage/processes 80

FUZZTIME ?= 30s
# Only targets whose "./package Name" it matches.
FUZZ ?= .

.PHONY: fuzz
fuzz: check ## fuzz all that reads files, one target after the other (FUZZTIME=30s for each, FUZZ=runs for some)
	@tools/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: supply
supply: check ## what comes from elsewhere: sums and licences of modules, known vulnerabilities, and no network at run time
	@tools/supply

.PHONY: bench
bench: check compile ## measure speed (BENCH_ARGS=... for its options)
	@go run ./cmd/qdnb bench $(BENCH_ARGS)

# What is measured beside JAX; each stage needs one of the peers' Python environments.
STAGES ?= generation rollout updates insertion adaptation
PEERS := $(if $(filter generation updates insertion,$(STAGES)),jax) $(if $(filter rollout adaptation,$(STAGES)),brax)

.PHONY: bench-peer
bench-peer: check compile plugin $(PEERS:%=.tools/peer-%/.stamp) ## measure speed beside the same work in JAX (STAGES=rollout for one stage, BENCH_ARGS=--record for docs/performance.md)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@$(PYTHON) tools/bench_peer.py $(BENCH_ARGS) build/qdnb $(STAGES)

.PHONY: bench-check
bench-check: ## the same, and an error where a ratio is lower than docs/performance.csv has it
	@$(MAKE) --no-print-directory bench-peer BENCH_ARGS="--check $(BENCH_ARGS)"

.PHONY: roofline
roofline: check compile plugin ## how near the stages of training are to what this machine can do
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@$(PYTHON) tools/roofline.py build/qdnb

.tools/peer-%/.stamp: tools/peer/%.txt
	@echo "== installing the $* peer into .tools/peer-$* (about a minute)"
	@tools/setup peer $*
	@touch $@

# --- the paper's experiments

SCALE ?= small
EXPERIMENTS ?= training smerl-targets adaptation hurdles sensitivity prior reward
# Options of `qdnb sweep plan`, such as --seeds 3.
PLAN_ARGS ?=
# Processes side by side; each needs some 3 GB of memory at the scale small.
JOBS ?= 2
EXPERIMENTS_DIR = build/experiments/$(SCALE)

# At the scale medium SMERL's targets come from the runs of SAC on this machine, which are made first.
ifeq ($(SCALE),medium)
ifneq ($(filter training adaptation hurdles reward,$(EXPERIMENTS)),)
TARGETS = $(EXPERIMENTS_DIR)/targets
endif
endif

# One plan of all: experiments share runs, and the runs of a process share compiled programs.
.PHONY: experiments
experiments: check compile plugin ## the paper's experiments: CSV files in build/experiments (SCALE=small, smoke, medium or paper; EXPERIMENTS=... for some)
	@mkdir -p $(EXPERIMENTS_DIR)
	@go build -o build/qdnb ./cmd/qdnb
ifdef TARGETS
	@echo "== SMERL's targets at the scale $(SCALE): the runs of SAC"
	@build/qdnb sweep plan --experiment smerl-targets --scale $(SCALE) $(PLAN_ARGS) >$(EXPERIMENTS_DIR)/targets.jsonl
	@build/qdnb sweep run --plan $(EXPERIMENTS_DIR)/targets.jsonl --runs $(EXPERIMENTS_DIR)/runs --out $(TARGETS) --jobs $(JOBS) --quiet
endif
	@for e in $(EXPERIMENTS); do build/qdnb sweep plan --experiment $$e --scale $(SCALE) \
		$(if $(TARGETS),--targets $(TARGETS)/smerl_targets_summary.csv) $(PLAN_ARGS) || exit 1; done >$(EXPERIMENTS_DIR)/plan.jsonl
	@echo "== experiments at the scale $(SCALE): $$(wc -l <$(EXPERIMENTS_DIR)/plan.jsonl) runs in $(EXPERIMENTS_DIR); the same command goes on"
	@build/qdnb sweep run --plan $(EXPERIMENTS_DIR)/plan.jsonl --runs $(EXPERIMENTS_DIR)/runs --out $(EXPERIMENTS_DIR)/results --jobs $(JOBS) --quiet

.PHONY: figures
figures: experiments ## the paper's figures and tables in build/figures, from the experiments' runs (FIGURES_ARGS=... for options of `qdnb figures`)
	@build/qdnb figures --in $(EXPERIMENTS_DIR) --out build/figures $(FIGURES_ARGS)

# --- notebooks

.PHONY: notebooks
notebooks: setup experiments ## make the experiments' runs, run all notebooks in place, as they are committed, and write their pages to build
	@$(NOTEBOOK) run $(NOTEBOOKS) --in-place --html build --expect-png $(EXPECT_PNG)

.PHONY: screenshots
screenshots: setup ## pictures of the notebooks' pages in build (needs chromium)
	@if ! ls build/*.html >/dev/null 2>&1; then $(NOTEBOOK) html $(NOTEBOOKS) --html build; fi
	@tools/env python tools/screenshot.py build/*.html

# --- code

.PHONY: lint
lint: check ## go vet, gofmt, and golangci-lint if it is installed
	@go vet ./...
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [[ -n $$unformatted ]]; then echo "not formatted, run \`make fmt\`:"; echo "$$unformatted"; exit 1; fi
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
		else echo "golangci-lint is not installed: only go vet and gofmt were run"; fi

.PHONY: fmt
fmt: ## format the Go files
	@gofmt -l -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: module
module: ## give the Go module another path: make module NAME=github.com/you/qdnb
	@tools/rename.sh "$(NAME)"

.PHONY: clean
clean: ## remove build; runs and installed tools stay
	rm -rf build

.PHONY: distclean
distclean: clean ## remove the installed tools and the cache of compiled programs too; runs stay
	@go run ./cmd/qdnb doctor --backend go --forget >/dev/null
	rm -rf .tools

# --- set-up; each step happens once

.PHONY: setup
setup: check .tools/bin/.stamp .tools/venv/.stamp compile plugin ## install what the notebooks need (all others do it by themselves)

.PHONY: check
check:
	@tools/setup check

.tools/bin/.stamp: tools/go.mod tools/go.sum
	@echo "== installing the GoNB kernel into .tools/bin (about half a minute)"
	@tools/setup go
	@touch $@

.tools/venv/.stamp: tools/requirements.txt
	@echo "== installing JupyterLab into .tools/venv (about half a minute)"
	@tools/setup python
	@touch $@

# For JupyterLab's Tab and Shift+Tab; nothing else needs it, so a failure is no error.
.PHONY: gopls
gopls: check ## completion and documentation in cells (`make lab` installs it, too)
	@if [[ ! -x .tools/bin/gopls ]]; then echo "== installing gopls into .tools/bin, for completion in cells (a minute or two, 41 MB)"; \
		tools/setup gopls || echo "gopls could not be installed; going on without completion (\`make gopls\` tries again)"; fi

# Compiled here, with progress, the libraries are in Go's cache when a cell or a test needs them.
.PHONY: compile
compile: check
	@$(PYTHON) tools/gobuild.py -label "qdnb and its libraries" build ./...

# Without a plugin everything runs too, on GoMLX's Go backend, slowly: a failure here is no error.
.PHONY: plugin
plugin: .tools/plugin.stamp ## fetch the XLA plugin into the user's cache, once

.tools/plugin.stamp: | compile
	@echo "== looking for an XLA plugin"
	@mkdir -p .tools
	@if go run ./cmd/qdnb doctor --install; then touch $@; \
		else echo "no XLA plugin could be installed; going on with the slow Go backend (\`make plugin\` tries again)"; fi
