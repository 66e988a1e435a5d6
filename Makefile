# Everything that people and scripts call. One profile (release) serves all of it, so that nothing is
# compiled twice; CONTRIBUTING.md says how to build a single crate in seconds.

CARGO ?= cargo

.PHONY: setup build kv-library demo test fmt lint miri bench

setup: ## installs what the build needs, or says what to install
	@scripts/setup

build: setup ## target/release/basalt, its debug information in target/release/basalt.debug
	$(CARGO) build --release --workspace --locked
	@scripts/split-debug
	@scripts/link-target

kv-library: build ## the C library of key/value stores, in target/kv-library: docs/kv-library.md
	@scripts/kv-library

demo: build ## the main job, end to end, on embedded storage
	@scripts/demo

# The order is that of what a change breaks most: the format in a second, clippy before anything is compiled.
test: lint build ## what CI runs; every harness of the fuzzer for some seconds and cargo xtask tidy are tests
	@scripts/setup tests
	$(CARGO) test --release --workspace --locked --no-fail-fast
	@scripts/miri

fmt:
	$(CARGO) fmt --all

# Clippy needs the metadata of all dependencies, and shares what build scripts made with the build.
lint: setup ## rustfmt and clippy; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings

miri: ## tests of unsafe code under miri, where a nightly compiler has it
	@scripts/miri

bench: build ## ours beside its peers, one table
	@bench/compare
