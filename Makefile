# Everything that people and scripts call. One profile (release) serves all of it, so that nothing is
# compiled twice; CONTRIBUTING.md says how to build a single crate in seconds.

CARGO ?= cargo

.PHONY: setup build demo test fmt lint bench

setup: ## installs what the build needs, or says what to install
	@scripts/setup

build: setup ## target/release/basalt, its debug information in target/release/basalt.debug
	$(CARGO) build --release --workspace --locked
	@scripts/split-debug
	@scripts/link-target

demo: build ## the main job, end to end, on embedded storage
	@scripts/demo

test: build ## every test that CI runs; the house rules (cargo xtask tidy) are one of them
	$(CARGO) test --release --workspace --locked --no-fail-fast

fmt:
	$(CARGO) fmt --all

lint: setup ## apart from `test`: clippy compiles all dependencies in its own way
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings

bench: build ## ours beside its peers, one table
	@bench/compare
