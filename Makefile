# make run and make test need python3 (3.11 or newer, with venv), make and a package index; all else is installed here.

PYTHON ?= python3
UV_VERSION := 0.13.9
# Kept outside of the checkout: the next checkout on this machine starts in seconds.
UV_HOME := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/yt-queue-agent/uv-$(UV_VERSION)
UV := $(UV_HOME)/bin/uv
BIN := .venv/bin
TOOLS_HOME := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/yt-queue-agent/tools
# What Hypothesis has found in the source, which takes seconds in each process of tests.
export HYPOTHESIS_STORAGE_DIRECTORY ?= $(TOOLS_HOME)/hypothesis

ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

# Tests and checks start hundreds of processes, each of which would compile again all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# A test that fails is run once more, alone.
PYTEST = $(BIN)/python -m tests.once_more $@

# What judges deploy/ and helm/; each of these targets has its tools from deploy/install-tools.sh.
DEPLOY_CHECKS := check-alerts check-chart check-image

.PHONY: run demo-export demo-verify test test-rest test-loaded test-all test-slow coverage check check-deploy $(DEPLOY_CHECKS) check-incidents check-kubernetes kubernetes-up check-spark check-release check-browser check-console check-ui conformance-real conformance-rpc conformance-go attack mutants attack-ports bench docs docs-check docs-site lock release proto clean

run: .venv/run.installed  ## two local clusters and an agent that serves both
	@exec $(BIN)/queue-agent local --demo

DEMO_EXPORT ?= demo-export
DEMO_PROXY ?= http://127.0.0.1:8001

demo-export: .venv/dev.installed  ## the queue of make run, which must be running, as Parquet files; needs Java 17
	@$(BIN)/python -m queue_agent.spark.export parquet --proxy $(DEMO_PROXY) --queue //home/demo/queue \
	    --consumer //home/demo/exporter --target $(DEMO_EXPORT)

demo-verify: .venv/dev.installed  ## read those files back, and prove that they have every row once
	@$(BIN)/python -m queue_agent.spark.export verify --proxy $(DEMO_PROXY) --queue //home/demo/queue \
	    --consumer //home/demo/exporter --target $(DEMO_EXPORT) --deep

test: .venv/dev.installed  ## the linters, the type checker, and all tests but the slow ones; each whatever became of the others
	@$(MAKE) --keep-going --no-print-directory --jobs 2 --output-sync=target check coverage; first=$$?; \
	    $(MAKE) --no-print-directory test-rest && exit $$first

test-rest: .venv/dev.installed
	$(PYTEST) -q --numprocesses auto -m "not slow" --ignore tests/unit/core --ignore tests/spark

test-loaded: .venv/dev.installed  ## the tests of make test while every processor has other things to do, and stopped now and then
	$(BIN)/python -m tests.loaded $(PYTEST) -q --numprocesses auto -m "not slow" --ignore tests/spark

test-all: test-slow check-deploy check-spark  ## the slower suites, one after the other; CI runs them after make test

test-slow: .venv/dev.installed  ## tests of five seconds or more each, attacks and fuzzing
	$(PYTEST) -q --numprocesses auto -m slow --ignore tests/spark

coverage: .venv/dev.installed  ## the unit tests of queue_agent/core, and whether they cover each of its branches
	$(BIN)/coverage erase
	$(BIN)/coverage run -m tests.once_more $@ -q --numprocesses auto tests/unit/core
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: .venv/dev.installed  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --cache-dir $(TOOLS_HOME)/mypy
	$(BIN)/lint-imports --no-cache

check-deploy: $(DEPLOY_CHECKS)  ## what is deployed, by the tools that will read it

check-alerts: export PATH := $(TOOLS_HOME)/bin:$(PATH)
check-alerts: .venv/dev.installed  ## metrics, rules and dashboards by promtool and a Prometheus server
	deploy/install-tools.sh $(TOOLS_HOME) prometheus alertmanager templates
	$(PYTEST) -q -rs deploy/tests

check-incidents: export PATH := $(TOOLS_HOME)/bin:$(PATH)
check-incidents: .venv/dev.installed  ## incidents as Prometheus and Alertmanager report them; INCIDENTS_PAGE=1 writes the table of docs/incidents.md
	deploy/install-tools.sh $(TOOLS_HOME) prometheus alertmanager templates
	$(PYTEST) -q -rs deploy/incident_tests

check-chart: export PATH := $(TOOLS_HOME)/bin:$(PATH)
check-chart: .venv/dev.installed  ## the Helm chart by helm, helm-unittest and kubeconform
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) python go prometheus
	$(PYTEST) -q -rs helm/tests

check-image: export PATH := $(TOOLS_HOME)/bin:$(PATH)
check-image: .venv/dev.installed  ## the Dockerfile by hadolint, and its steps in a clean root, for which you have to be root
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) python $$(test "$$(id -u)" != 0 || echo root)
	hadolint Dockerfile
	shellcheck .ci/run deploy/install-tools.sh deploy/operator/*
	IMAGE_ROOT=$(TOOLS_HOME)/root $(PYTEST) -q -rs deploy/image_tests

check-kubernetes: export PATH := $(TOOLS_HOME)/bin:$(PATH)
check-kubernetes: .venv/dev.installed  ## image and chart on a Kubernetes that is started here, for which you have to be root (docs/kubernetes.md)
	@$(BIN)/python -m deploy.kubernetes_tests.able || exit 0; \
	    UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) root go kubernetes node && \
	    TOOLS_HOME=$(TOOLS_HOME) $(PYTEST) -q -rs --timeout-method=signal deploy/kubernetes_tests $(TESTS)

kubernetes-up: export PATH := $(TOOLS_HOME)/bin:$(PATH)
kubernetes-up: .venv/dev.installed  ## that Kubernetes with three agents, until Ctrl-C
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) root go kubernetes node prometheus
	@TOOLS_HOME=$(TOOLS_HOME) exec $(BIN)/python -m deploy.kubernetes_tests.up

check-spark: .venv/dev.installed  ## exports, frames and streams, in one process and on a standalone cluster of Spark, with kills; needs Java 17
	REMOTE_EXECUTORS=1 $(PYTEST) -q -rs --numprocesses 2 tests/spark

check-browser: .venv/dev.installed  ## the page of the example in a real browser, which is installed if you are root on Debian
	deploy/install-tools.sh $(TOOLS_HOME) chromium
	$(PYTEST) -q -rs tests/examples/test_page.py

CONSOLE_REPORT ?= console-report

check-console: .venv/dev.installed  ## the agent's pages in a real browser; screenshots are in CONSOLE_REPORT (docs/console.md)
	deploy/install-tools.sh $(TOOLS_HOME) chromium
	CONSOLE_REPORT=$(CONSOLE_REPORT) $(PYTEST) -q -rs -s tests/console

UI_KIT_DIR ?= ../shared/ui-kit

check-ui: .venv/dev.installed  ## the pages of YTsaurus's own web UI on local clusters; the UI is in UI_KIT_DIR (docs/web-ui.md)
	deploy/install-tools.sh $(TOOLS_HOME) chromium ui
	$(BIN)/python -m tests.ui $(UI_KIT_DIR)

conformance-real: .venv/dev.installed  ## the conformance suite on the cluster at YT_PROXY (docs/conformance-real.md)
	@test -n "$$YT_PROXY" || { echo "say which cluster: make conformance-real YT_PROXY=localhost:8000" >&2; exit 1; }
	YT_CONFORMANCE_PROXY="$${YT_PROXY#http://}" YT_CONFORMANCE_OTHER_PROXY="$${YT_OTHER_PROXY#http://}" \
	    $(BIN)/pytest -q -rs tests/conformance $(TESTS)

conformance-rpc: .venv/dev.installed  ## the conformance suite over RPC, as far as client and driver take part (docs/local-cluster.md)
	YT_CONFORMANCE_BACKEND=rpc $(BIN)/pytest -q -rs --numprocesses 2 --timeout 60 tests/conformance $(TESTS)
	$(BIN)/python -m tests.differential --commands 10000 $(if $(SEED),--seed $(SEED))

conformance-go: .venv/dev.installed  ## the Go SDK's own tests, and ours with it; needs Go, and its module proxy the first time
	$(BIN)/python -m tests.go_sdk
	YT_CONFORMANCE_GO=1 $(PYTEST) -q -rs tests/conformance/test_go_client.py

SECONDS ?= 60

attack: .venv/dev.installed  ## two agents killed, stopped, cut off and misled for SECONDS; no row may go that somebody needs
	$(BIN)/python -m tests.attack --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

mutants: .venv/dev.installed  ## change the code that decides what is trimmed; tests must notice (MODULES="core.lease core.trim")
	rm -rf mutants  # mutmut keeps what it made of modules that were not on the list
	$(BIN)/python -m tests.mutation $(MODULES)

attack-ports: .venv/dev.installed  ## 10,000 hostile connections to each port of an agent, and what others notice (docs/benchmarks.md)
	$(BIN)/python -m tests.e2e.attacked_agent

bench: .venv/dev.installed  ## figures, each against its baseline
	$(BIN)/python -m benchmarks.local_cluster
	$(BIN)/python -m benchmarks.client_requests
	$(BIN)/python -m benchmarks.fresh_cluster
	$(BIN)/python -m benchmarks.startup

$(UV):
	$(PYTHON) -m venv --clear $(UV_HOME)
	$(UV_HOME)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.txt

# The lists name all that is needed. Without --no-deps, uv would ask PySpark for its dependencies, for which it downloads and builds it
# again in each new checkout.
.venv/run.installed: requirements.txt pyproject.toml packaging/yt-local-cluster/pyproject.toml packaging/console/package-lock.json | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	$(UV) pip install --quiet --python .venv --no-deps --require-hashes -r requirements.txt
	$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable packaging/yt-local-cluster --editable .
	@touch $@

.venv/dev.installed: requirements-dev.txt .venv/run.installed
	$(UV) pip install --quiet --python .venv --no-deps --require-hashes -r requirements-dev.txt
	$(UV) pip check --quiet --python .venv
	@touch $@

lock: | $(UV)  ## choose the newest versions that pyproject.toml allows, and pin them
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-package yt-local-cluster --no-header -o requirements.txt pyproject.toml requirements-build.in
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-package yt-local-cluster --no-header --extra dev --extra spark --extra otel -c requirements.txt -c requirements-limits.in \
	    -o requirements-dev.txt pyproject.toml requirements-build.in
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-package yt-local-cluster --no-header --extra otel -c requirements-dev.txt -o requirements-image.txt pyproject.toml requirements-build.in
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header -o packaging/site/requirements.txt packaging/site/requirements.in
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header -o deploy/release/requirements.txt deploy/release/requirements.in
	for tools in requirements requirements-go; do \
	    $(UV) pip compile --quiet --upgrade --no-deps --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	        --no-header -o deploy/tools/$$tools.txt deploy/tools/$$tools.in || exit 1; \
	done

docs: .venv/dev.installed  ## generate the reference pages
	$(BIN)/python -m queue_agent.cli.reference
	$(BIN)/python -m deploy.grafana.generate
	$(BIN)/python -m helm.generate.files

docs-check: export PATH := $(TOOLS_HOME)/bin:$(PATH)
docs-check: .venv/dev.installed  ## words and reading grade of each page; links; the rules of words by Vale
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) vale
	$(BIN)/python -m tests.prose
	vale --output=line $$($(BIN)/python -m tests.prose --list)
	$(BIN)/pytest -q tests/unit/test_docs.py tests/unit/test_prose.py

SITE ?= build/site

docs-site: .venv/dev.installed  ## these pages as a site that works offline, in SITE; with the pictures of make check-console if CONSOLE_REPORT is there
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) site
	$(BIN)/python packaging/site/build.py $(TOOLS_HOME)/site $(SITE) $(wildcard $(CONSOLE_REPORT))

RELEASE ?= dist

release: .venv/dev.installed  ## wheels, archives and chart of this commit in RELEASE, each the same whoever makes them, with SBOM and provenance
	UV=$(UV) deploy/install-tools.sh $(TOOLS_HOME) release
	$(BIN)/python -m deploy.release --tools $(TOOLS_HOME)/release/bin --uv $(UV) --target $(RELEASE)

check-release: .venv/dev.installed  ## make a release, and run what it has where there is no checkout; needs Java 17
	rm -rf build/release
	$(MAKE) release RELEASE=build/release
	UV=$(UV) RELEASE=build/release $(BIN)/pytest -q -rs deploy/release_tests

proto: .venv/dev.installed  ## generate the Python code of the protobuf messages
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. yt_wire/proto/*.proto queue_agent/keda/*.proto

clean:
	rm -rf .venv
