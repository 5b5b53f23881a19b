# Targets of this checkout; `make` lists them.
#
# Installed tools are in .tools, build products in build. tools/env keeps the notebook tools separate
# from the user's own Jupyter.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
# Steps share the machine's cores and print progress: run them one after another, even with -j.
.NOTPARALLEL:
.DEFAULT_GOAL := help

PYTHON ?= python3
export PYTHON

NOTEBOOK := tools/env python tools/notebook.py
NOTEBOOKS := $(filter-out notebooks/index.ipynb,$(wildcard notebooks/*.ipynb))
# Minimum number of PNG figures per notebook.
EXPECT_PNG ?= 1
# Timeout of a cell in `make test`, in seconds; the first cells may compile.
TEST_TIMEOUT ?= 900

# Go's compiler, linker and checks, and the tests of the Go backend, collect garbage after their heap has grown fivefold,
# not twofold: they take a tenth to a third less processor time, and up to 2.5 times the memory, but no more than the limit.
setup compile lint test: export GOGC ?= 400
setup compile lint test: export GOMEMLIMIT ?= 2GiB

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' Makefile

# --- the main job

.PHONY: run
run: setup ## set up, then run notebooks/quickstart.ipynb and write build/quickstart.html
	@echo "== running notebooks/quickstart.ipynb (about 1.5 minutes on two cores)"
	@$(NOTEBOOK) run notebooks/quickstart.ipynb --out build --html build --expect-png $(EXPECT_PNG) --summary

.PHONY: lab
lab: setup ## open the notebooks in JupyterLab (LAB_ARGS=... for its options)
	@tools/env python -m jupyter trust notebooks/*.ipynb >/dev/null
	@if [[ ! -x .tools/bin/gopls ]]; then \
		echo "== building gopls meanwhile, for completion in cells (some minutes; its progress is in .tools/gopls.log)"; \
		set -m; { nice tools/setup gopls >.tools/gopls.log 2>&1 && echo "== gopls is built: restart a kernel to complete in its cells" || \
			echo "== gopls could not be built; see .tools/gopls.log"; } & \
		build=$$!; set +m; trap 'kill -- -$$build 2>/dev/null || true' EXIT; \
	fi; \
	echo "== starting JupyterLab (about 10 s); stop it with Ctrl-C"; \
	tools/env python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \
		--ServerApp.root_dir="$(CURDIR)" $(LAB_ARGS) notebooks/index.ipynb

# --- tests

# Runs a step and says how long it took. RECORD=1 appends the times to docs/performance.csv.
STEP := $(PYTHON) tools/ledger.py $(if $(RECORD),--record)

# The tests of packages qdnb and envs/mujoco take longest, so they start first.
.PHONY: test
test: setup lint ## lint, go test, a part of race and fuzz, then all experiments and notebooks at smoke scale (RECORD=1 keeps the times)
	@echo "== go test ./..."
	@$(STEP) "go test" go test -vet=off -timeout 30m ./qdnb ./envs/mujoco ./...
	@echo "== tests of the tools"
	@$(STEP) tools xargs -P 2 -n 1 $(PYTHON) -m unittest -q <<<"$$(ls tools/test_*.py)"
	@$(STEP) race $(MAKE) --no-print-directory race RACE="./internal/npz/... ./internal/progress ./qdnb/plot/scene ./qdnb/runs"
	@$(STEP) fuzz $(MAKE) --no-print-directory fuzz FUZZTIME=2000x FUZZ='(npz|qdnb/runs|plot/scene) '
	@rm -rf build/experiments/smoke
	@$(STEP) experiments $(MAKE) --no-print-directory experiments SCALE=smoke
	@$(STEP) notebooks $(MAKE) --no-print-directory smoke
	@echo "make test: all passed"

# Smoke runs are separate from the real ones and are retrained each time, except those of the
# experiments.
.PHONY: smoke
smoke: setup
	@echo "== running $(words $(NOTEBOOKS)) notebooks at smoke scale, two at a time"
	@if [[ ! -e build/experiments/smoke/plan.jsonl ]]; then $(MAKE) --no-print-directory experiments SCALE=smoke; fi
	@rm -rf build/smoke
	@QDNB_EXPERIMENTS=$(CURDIR)/build/experiments/smoke $(NOTEBOOK) run $(NOTEBOOKS) --smoke --jobs 2 --runs build/smoke/runs --out build/smoke \
		--timeout $(TEST_TIMEOUT) --expect-png $(EXPECT_PNG)

.PHONY: test-long
test-long: setup ## tests that train for hours, all notebooks at full scale, and screenshots
	@echo "== go test ./... with QDNB_LONG=1"
	@QDNB_LONG=1 go test -timeout 0 -v ./...
	@echo "== running $(words $(NOTEBOOKS)) notebooks"
	@$(NOTEBOOK) run $(NOTEBOOKS) --out build --html build --expect-png $(EXPECT_PNG)
	@$(MAKE) --no-print-directory screenshots
	@echo "make test-long: all passed"

.PHONY: test-faults
test-faults: check compile plugin ## kill processes, fill disks, damage files: see docs/reliability.md (without root, disk tests are skipped)
	@echo "== go test ./internal/faults with QDNB_FAULTS=1"
	@QDNB_FAULTS=1 go test -count 1 -timeout 2h -v ./internal/faults
	@echo "make test-faults: all passed"

.PHONY: programs
programs: check compile plugin ## write the ledger (qdnb/testdata/programs.txt and qdnb/session/bytes.txt), which says what this code computes (LEDGER=check only compares, LEDGER=write-go keeps the numbers of XLA)
	@QDNB_LEDGER=$(or $(LEDGER),write) go test -count 1 -timeout 30m -run 'TestLedger$$' -v ./qdnb

.PHONY: test-mujoco
test-mujoco: check compile ## test the reader of MuJoCo's XML with MuJoCo's compiler, and play a gait in MuJoCo (downloads 25 MB once)
	@QDNB_MUJOCO=1 go test -count 1 -v ./envs/mujoco/compiler
	@QDNB_MUJOCO=1 go test -count 1 -v -run InMuJoCo ./qdnb

.PHONY: test-determinism
test-determinism: check compile plugin ## train everything on XLA undisturbed, and killed and resumed with other workers, and compare bytes (docs/reliability.md)
	@echo "== go test ./internal/faults with QDNB_DETERMINISM=1"
	@QDNB_DETERMINISM=1 go test -count 1 -timeout 2h -v -run TestSwarm ./internal/faults
	@echo "make test-determinism: all passed"

.PHONY: test-arm64
test-arm64: check compile plugin ## compile for Linux on arm64, and train, check a robot's physics and draw under QEMU (needs its cross compiler)
	@tools/arm64

.PHONY: check-macos
check-macos: check .tools/zig/.stamp ## compile everything for macOS on arm64, tests included (downloads 80 MB once); runs nothing
	@tools/macos

.PHONY: release
release: check .tools/zig/.stamp ## make a release of this commit in build/release: programs, checksums, and a module that GOPROXY=file://... serves
	@$(PYTHON) tools/release.py build/release

.PHONY: test-release
test-release: setup release ## install the release from an empty home: the program, go install, and a cell of a GoNB of one's own
	@.tools/venv/bin/python tools/try_release.py build/release

.PHONY: test-dataframe
test-dataframe: check .tools/peer-mujoco/.stamp ## run the snippet of the documents that turns a run into data frames of pandas and pyribs
	@.tools/peer-mujoco/bin/python -P tools/check_dataframe.py notebooks/results-skills/runs/map-elites-walker-uni-0-2aca5f75

.PHONY: test-tab
test-tab: setup gopls .tools/browser/.stamp ## press Tab in JupyterLab with a headless Chromium, check the completions, and watch a run draw itself (pictures in build/tab)
	@.tools/browser/bin/python tools/tab.py
	@echo "make test-tab: all passed"

.PHONY: test-kubernetes
test-kubernetes: check compile .tools/kubernetes/.stamp ## run a plan as a Job of a real Kubernetes control plane on this machine, with lost pods and nodes
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@.tools/kubernetes/venv/bin/python tools/kubernetes/test_job.py build/qdnb
	@echo "make test-kubernetes: all passed"

.PHONY: check-image
check-image: check ## lint Containerfile, build its images and try them (needs buildah; says what it could not check)
	@tools/image

RACE ?= ./internal/npz/... ./internal/progress ./qdnb/paper ./qdnb/plot/scene ./qdnb/plot/viewer ./qdnb/runs

.PHONY: race
race: check ## run the race detector on packages that use goroutines and need no GoMLX
	@echo "== race detector"
	@go test -race -short -timeout 30m $(RACE)

.PHONY: coverage
coverage: check compile plugin ## measure test coverage outside graph code; fail below 80 %
	@rm -rf build/coverage && mkdir -p build/coverage/processes
	@QDNB_COVERAGE=$(CURDIR)/build/coverage/processes go test -timeout 2h -coverpkg=./... -coverprofile=build/coverage/profile ./...
	@$(PYTHON) tools/coverage.py build/coverage/profile build/coverage/processes 80

FUZZTIME ?= 20000x
# Selects targets by "./package Name".
FUZZ ?= .

.PHONY: fuzz
fuzz: check ## fuzz all file readers, one target after another (FUZZTIME=20000x inputs or 30s for each, FUZZ=runs to select)
	@tools/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: supply
supply: check ## check the supply chain: module sums, licences, known vulnerabilities, no network at run time
	@tools/supply

.PHONY: bench
bench: check compile plugin ## measure speed (BENCH=Rollout BENCH_ARGS="-env ant-uni" for one stage)
	@go test ./bench -run '^$$' -bench '$(or $(BENCH),.)' -timeout 0 $(BENCH_ARGS)

# Stages compared with JAX or MuJoCo; each needs the Python environment of its peer.
STAGES ?= generation qdax rollout updates insertion adaptation simulator evolution workers robots policies gymnasium
PEERS := $(if $(filter generation updates insertion,$(STAGES)),jax) $(if $(filter qdax,$(STAGES)),qdax) $(if $(filter rollout adaptation,$(STAGES)),brax) \
	$(if $(filter simulator evolution workers robots policies gymnasium,$(STAGES)),mujoco)

.PHONY: bench-peer
bench-peer: check compile plugin $(PEERS:%=.tools/peer-%/.stamp) ## compare speed and memory with the same work in JAX and MuJoCo (STAGES=rollout for one stage, BENCH_ARGS=--record to update docs/performance.md)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@go test -c -o build/ ./bench
	@$(PYTHON) tools/bench_peer.py $(BENCH_ARGS) build/qdnb $(STAGES)

.PHONY: bench-check
bench-check: ## the same, but fail if a ratio is lower than in docs/performance.csv
	@$(MAKE) --no-print-directory bench-peer BENCH_ARGS="--check $(BENCH_ARGS)"

RUN ?= notebooks/results-skills/runs/map-elites-walker-uni-0-2aca5f75

.PHONY: replay
replay: check compile plugin .tools/peer-brax/.stamp ## play 64 policies of a run of neuroevolution in Brax 0.0.12, too, and compare whole episodes (RUN=folder)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@.tools/peer-brax/bin/python tools/peer/brax_replay.py build/qdnb $(RUN)

.PHONY: replay-gymnasium
replay-gymnasium: check compile plugin .tools/peer-gymnasium/.stamp ## play ten policies on each of Gymnasium's six tasks there, too, and compare whole episodes (TASKS=Hopper-v5 for some, or folders of runs; minutes a task, Humanoid-v5 compiles for several)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@.tools/peer-gymnasium/bin/python tools/peer/gymnasium_replay.py build/qdnb $(TASKS)

BENCHMARK ?= build/benchmark
QDAX ?= build/qdax

.PHONY: parity
parity: check compile plugin .tools/peer-parity/.stamp ## train small configurations here and by the published JAX code, for docs/parity.csv (BENCHMARK and QDAX: checkouts, see tools/parity.py; PARITY_ARGS="--faults")
	@mkdir -p build
	@go build -buildvcs=auto -o build/qdnb ./cmd/qdnb
	@$(PYTHON) tools/parity.py --benchmark $(BENCHMARK) --qdax $(QDAX) $(PARITY_ARGS) build/qdnb docs/parity.csv

.PHONY: roofline
roofline: check compile plugin ## compare the stages of training with this machine's limits
	@mkdir -p build
	@go test -c -o build/ ./bench
	@$(PYTHON) tools/roofline.py build/bench.test

.PHONY: aot
aot: check compile .tools/peer-aot/.stamp ## compile all programs for an H100 and a TPU v5e, without having one, and compare with docs/accelerators.csv (AOT_ARGS="--only ant-uni", --record; downloads 5 GB once)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@$(PYTHON) tools/aot.py $(AOT_ARGS) build/qdnb

BACKEND ?= cuda

.PHONY: accelerator
accelerator: ## measure a machine with a GPU or TPU, in at most 8 minutes, without network: results in build/accelerator (BACKEND=tpu; BACKEND=cpu for a dry run)
	@mkdir -p build
	@if command -v go >/dev/null; then export GOPROXY=off; go build -o build/qdnb ./cmd/qdnb; go test -c -o build/ ./envs ./bench; fi
	@$(PYTHON) tools/accelerator.py --backend $(BACKEND) $(ACCELERATOR_ARGS) build/qdnb

.tools/peer-%/.stamp: tools/peer/%.txt
	@echo "== installing the $* peer into .tools/peer-$* (about a minute)"
	@tools/setup peer $*
	@touch $@

# --- the paper's experiments

SCALE ?= small
EXPERIMENTS ?= training smerl-targets adaptation hurdles sensitivity prior reward beyond
# Options of `qdnb sweep plan`, such as --seeds 3.
PLAN_ARGS ?=
# Concurrent processes; each needs about 3 GB of memory at scale small.
JOBS ?= 2
EXPERIMENTS_DIR = build/experiments/$(SCALE)

# At scale medium, SMERL's targets come from SAC runs on this machine, which are trained first.
ifeq ($(SCALE),medium)
ifneq ($(filter training adaptation hurdles reward,$(EXPERIMENTS)),)
ifneq ($(if $(findstring --algorithms,$(PLAN_ARGS)),$(findstring smerl,$(PLAN_ARGS)),yes),)
TARGETS = $(EXPERIMENTS_DIR)/targets
endif
endif
endif

# One plan for all experiments: they share runs, and runs of a process share compiled programs.
.PHONY: experiments
experiments: check compile plugin ## run the paper's experiments; CSV files in build/experiments (SCALE=small, smoke, medium or paper; EXPERIMENTS=... to select)
	@mkdir -p $(EXPERIMENTS_DIR)
	@go build -buildvcs=auto -o build/qdnb ./cmd/qdnb
ifdef TARGETS
	@echo "== SMERL's targets at scale $(SCALE): SAC runs"
	@build/qdnb sweep plan --experiment smerl-targets --scale $(SCALE) \
		$(if $(findstring --algorithms,$(PLAN_ARGS)),,$(PLAN_ARGS)) \
		>$(EXPERIMENTS_DIR)/targets.new
	@mv $(EXPERIMENTS_DIR)/targets.new $(EXPERIMENTS_DIR)/targets.jsonl
	@build/qdnb sweep run --plan $(EXPERIMENTS_DIR)/targets.jsonl --runs $(EXPERIMENTS_DIR)/runs --out $(TARGETS) --jobs $(JOBS) --quiet
endif
	@build/qdnb sweep plan $(EXPERIMENTS:%=--experiment %) --scale $(SCALE) \
		$(if $(TARGETS),--targets $(TARGETS)/smerl_targets_summary.csv) $(PLAN_ARGS) \
		>$(EXPERIMENTS_DIR)/plan.new
	@mv $(EXPERIMENTS_DIR)/plan.new $(EXPERIMENTS_DIR)/plan.jsonl # only if it was written to the end
	@echo "== experiments at scale $(SCALE): $$(wc -l <$(EXPERIMENTS_DIR)/plan.jsonl) runs in $(EXPERIMENTS_DIR); if interrupted, rerun the same command to resume"
	@build/qdnb sweep run --plan $(EXPERIMENTS_DIR)/plan.jsonl --runs $(EXPERIMENTS_DIR)/runs --out $(EXPERIMENTS_DIR)/results --jobs $(JOBS) --quiet

.PHONY: figures
figures: experiments ## draw the paper's figures and tables from the experiments' runs, in build/figures (FIGURES_ARGS=... for options of `qdnb figures`)
	@build/qdnb figures --in $(EXPERIMENTS_DIR) --out build/figures $(FIGURES_ARGS)

# Experiments folders, or plans next to a folder runs: your own, else the shipped ones.
REPRODUCTION ?= $(or $(wildcard build/experiments/medium build/experiments/paper),\
	notebooks/results notebooks/results-paper)

.PHONY: reproduction
reproduction: check compile ## write docs/reproduction.md (REPRODUCTION=... for other folders)
	@go run ./cmd/qdnb reproduction $(REPRODUCTION:%=--in %) --out docs

.PHONY: docs-figures
docs-figures: check compile plugin ## draw the pictures of the pages in docs (long: it trains; needs chromium)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@go run ./internal/docfigures
	@echo "make docs-figures: wrote the pictures in docs"

.PHONY: docs-settings
docs-settings: check compile ## write the tables of settings in docs/algorithms, from the structs' comments and defaults
	@go run ./internal/docsettings
	@echo "make docs-settings: wrote the tables in docs/algorithms"

# --- the static site

.PHONY: site
site: setup ## write the site to build/site: docs, notebooks, packages, figures, and repertoires whose cells play their gaits (any static host can serve it)
	@mkdir -p build
	@go build -o build/qdnb ./cmd/qdnb
	@tools/env python tools/website.py build/qdnb build/site

.PHONY: test-site
test-site: site .tools/browser/.stamp ## browse build/site in a headless Chromium (screenshots in build/site-screenshots)
	@.tools/browser/bin/python tools/browse_site.py build/site
	@echo "make test-site: all passed"

# --- notebooks

# The experiments of notebooks/results.
SHIPPED = $(shell sed -n 's/^{"experiment":"\([a-z-]*\)".*/\1/p' notebooks/results/plan.jsonl 2>/dev/null)

.PHONY: notebooks
notebooks: setup ## train what is not shipped, then run all notebooks in place (as committed), and write their HTML pages to build
	@$(MAKE) --no-print-directory experiments EXPERIMENTS="$(filter-out $(SHIPPED),$(EXPERIMENTS))"
	@$(NOTEBOOK) run $(NOTEBOOKS) --in-place --html build --expect-png $(EXPECT_PNG)

.PHONY: screenshots
screenshots: setup ## take screenshots of the notebooks' pages in build (needs chromium)
	@if ! ls build/*.html >/dev/null 2>&1; then $(NOTEBOOK) html $(NOTEBOOKS) --html build; fi
	@tools/env python tools/screenshot.py build/*.html

# --- code

# Comments and names follow this project's rules, errors begin with the names of fields, and dot
# imports make graph code read like formulas.
CHECKS := all,-ST1000,-ST1001,-ST1003,-ST1005,-ST1020,-ST1021,-ST1022,-QF1008

.PHONY: lint
lint: check .tools/bin/.lint ## gofmt, go vet and staticcheck
	@echo "== gofmt, go vet, staticcheck"
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [[ -n $$unformatted ]]; then echo "not formatted, run \`make fmt\`:"; echo "$$unformatted"; exit 1; fi
	@go vet ./...
	@.tools/bin/staticcheck -checks $(CHECKS) ./...

.tools/bin/.lint: tools/lint/go.mod
	@mkdir -p .tools/bin
	@GOWORK=off GOBIN=$(CURDIR)/.tools/bin go -C tools/lint install tool
	@touch $@

.PHONY: fmt
fmt: ## format the Go files
	@gofmt -l -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: module
module: ## change the Go module path: make module NAME=github.com/you/qdnb
	@$(PYTHON) tools/rename.py "$(NAME)"

.PHONY: clean
clean: ## remove build; keep runs and installed tools
	rm -rf build

.PHONY: distclean
distclean: clean ## also remove installed tools and the cache of compiled programs; keep runs
	@go run ./cmd/qdnb doctor --backend go --forget >/dev/null
	rm -rf .tools

# --- setup; each step runs once

.PHONY: setup
setup: check .tools/bin/.stamp .tools/venv/.stamp compile plugin ## install what the notebooks need (other targets do so automatically)

.PHONY: check
check:
	@tools/setup check

.tools/bin/.stamp: tools/go.mod tools/go.sum tools/gonb/pull-request.patch tools/gonb/outputs.patch
	@echo "== installing the GoNB kernel into .tools/bin (about half a minute)"
	@tools/setup go
	@touch $@

.tools/venv/.stamp: tools/requirements.txt
	@echo "== installing JupyterLab into .tools/venv (about half a minute)"
	@tools/setup python
	@touch $@

.tools/browser/.stamp: tools/browser.txt
	@echo "== installing Playwright into .tools/browser"
	@tools/setup browser
	@touch $@

.tools/zig/.stamp: tools/zig.txt
	@echo "== installing Zig's C compiler into .tools/zig"
	@tools/setup zig
	@touch $@

.tools/kubernetes/.stamp: tools/kubernetes/go.mod tools/kubernetes/requirements.txt
	@echo "== building a Kubernetes control plane into .tools/kubernetes (a quarter of an hour on two cores)"
	@tools/setup kubernetes
	@touch $@

KERNEL ?= gonb

.PHONY: kernel
kernel: setup ## install the Go kernel of this checkout for your own Jupyter, VS Code or Colab (KERNEL=qdnb for another name)
	@$(PYTHON) tools/install_kernel.py $(KERNEL)

# For JupyterLab's Tab and Shift+Tab. Nothing else needs it, so failures are ignored.
.PHONY: gopls
gopls: check ## install completion and documentation for cells (`make lab` does so, too)
	@if [[ ! -x .tools/bin/gopls ]]; then echo "== installing gopls into .tools/bin, for completion in cells (some minutes, 41 MB)"; \
		tools/setup gopls || echo "gopls could not be installed; continuing without completion (run \`make gopls\` to retry)"; fi

# Compiles the libraries with progress, so that they are in Go's cache for cells and tests.
.PHONY: compile
compile: check
	@$(PYTHON) tools/gobuild.py -label "qdnb and its libraries" compile ./...

# Without a plugin everything runs on GoMLX's Go backend, but slowly, so failures are ignored.
.PHONY: plugin
plugin: .tools/plugin.stamp ## download the XLA plugin into the user's cache, once

.tools/plugin.stamp: | compile
	@echo "== looking for an XLA plugin"
	@mkdir -p .tools
	@if go run ./cmd/qdnb doctor --install; then touch $@; \
		else echo "no XLA plugin could be installed; continuing with the slow Go backend (run \`make plugin\` to retry)"; fi
