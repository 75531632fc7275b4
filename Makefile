# The ways into this repository. `make help` lists them. CARGO_TARGET_DIR and SEXTANT_ASSETS are honoured.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What a build and a run need from set-up: ONNX Runtime, the model, RocksDB's library. Read anew in every recipe.
ENV := eval "$$(deploy/setup.sh --print-env)";

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: setup
setup: ## Bring what the build needs onto this machine (once; then a second)
	@deploy/setup.sh

# Variables given on make's command line reach the script through the environment.
.PHONY: demo
demo: setup ## Index the sources of rustls and answer 20 questions; REPO=folder QUERY="words" for your own
	@$(ENV) deploy/demo/demo.sh

.PHONY: test
test: setup ## All tests
	@$(ENV) cargo test --workspace --locked

.PHONY: bench-scan
bench-scan: setup ## Time scans against the memory's read limit; CODES=folder PEERS=1 JSON=file QUICK=1 ROWS=n
	@$(ENV) deploy/bench/scan.sh

.PHONY: soak
soak: setup ## The tests that take long: 100 power cuts in the middle of an index
	@$(ENV) SEXTANT_KILLS=100 cargo test --locked --package sextant-tests --test all -- --nocapture resume

.PHONY: fuzz
fuzz: ## Fuzz the chunker, the normaliser and the decoder of the wire; FUZZ_SECONDS=60 a target
	@deploy/setup.sh fuzz
	@$(ENV) deploy/fuzz.sh

.PHONY: bench-daemon
bench-daemon: setup ## Memory, CPU and start of an idle daemon; IDLE_SECONDS=600, JSON=file
	@$(ENV) cargo build --release --locked --package sextant-client --package sextant-tests
	@$(ENV) "$${CARGO_TARGET_DIR:-target}/release/sextant-bench-daemon" --seconds "$${IDLE_SECONDS:-600}" $${JSON:+--json "$$JSON"}

.PHONY: docs
docs: setup ## Write what is made from tables: docs/troubleshooting.md, client-agent/src/api/openapi.json
	@$(ENV) SEXTANT_WRITE_DOCS=1 cargo test --locked --package sextant-client --lib -- the_file_is_the_document
	@$(ENV) SEXTANT_WRITE_DOCS=1 cargo test --locked --package sextant-tests --test all -- the_page_is_what_the_table_makes

.PHONY: check
check: setup ## Format, lints, dependencies, tidy; writes nothing
	@deploy/setup.sh deny
	@$(ENV) cargo fmt --all --check
	@$(ENV) cargo clippy --workspace --all-targets --locked -- -D warnings
	@$(ENV) deploy/deny.sh
	@$(ENV) cargo test --locked --package sextant-tests --test all -- tidy

.PHONY: fix
fix: setup ## Format, and apply what clippy can
	@$(ENV) cargo clippy --fix --allow-dirty --allow-staged --workspace --all-targets --locked
	@$(ENV) cargo fmt --all
