VAULT ?= ~/vault
PORT  ?= 7833
ARGS  ?= vault-template
SECONDS ?= 60
MINUTES ?= 30
CASES ?= 1000
# Most of what a test of the running program takes is waiting: two at a time for each core.
THREADS ?= $(shell echo $$(( 2 * $$(nproc 2>/dev/null || sysctl -n hw.ncpu) )))
# Unit tests that take long where they are not optimised.
SLOW := models::gguf:: index::local::vectors:: text::note::tests::hostile:: fifty_thousand_turns nothing_of_what_is_gone_is_left_on_the_disk \
	mean_ill a_long_file_is_read_to_its_end turns_without_a_word
# In quotes the shell leaves ~ alone.
override VAULT := $(VAULT:~/%=$(HOME)/%)
# A cargo that was installed a moment ago is not on this shell's path yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help run quick test test-clients soak fuzz check build install dist bench bench-onnx bench-report clean deps

help: ## List what can be made
	@echo "vault: a person's long-lived memory, as plain Markdown in one folder"
	@echo
	@awk -F ' *## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "The vault is VAULT and the port is PORT: make run VAULT=~/notes PORT=8000"

run: build ## Serve the vault in ~/vault (made first, if there is none) on port 7833
	@[ -e "$(VAULT)/memory.toml" ] || target/vault init "$(VAULT)"
	@exec target/vault serve --vault "$(VAULT)" --port "$(PORT)"

# Properties are tried on one case.
quick: ## After an edit: the unit tests, the contract of the engines, the rules, and each way in once
	@PROPTEST_CASES=1 cargo test --locked --lib --test architecture --test docs -- \
		$(foreach slow,$(SLOW),--skip $(slow))
	@cargo test --locked --test main -- smoke::

test: deps ## Run the tests
	@cargo test --locked --lib --bins --test architecture --test docs
	@cargo test --locked --test main -- --test-threads $(THREADS)

test-clients: deps ## Test the page in a real browser, MCP with a real client, and programs in Python
	@tests/browser/run
	@tests/mcp/run
	@tests/python/run

soak: deps ## Run the long tests: edits, searches and kills for MINUTES (30), and more cases of the others
	@SOAK_MINUTES=$(MINUTES) cargo test --locked --test main -- --nocapture soak::
	@SOAK_MINUTES=$(MINUTES) cargo test --locked --test main -- --nocapture crash:: capture::kills:: damage::closed:: fresh::
	@PROPTEST_CASES=$(CASES) cargo test --locked --test main -- model:: chunks:: damage::random
	@PROPTEST_CASES=$(CASES) cargo test --locked --lib -- search::tests::contract
	@scripts/fuzz $$(($(SECONDS) * 5))
	@echo "soak: all of it passed"

fuzz: deps ## Look for inputs that break a parser or the API, SECONDS=60 a target, TARGETS="note api" or all
	@scripts/fuzz $(SECONDS) $(TARGETS)

check: ## Hold the code against its rules: format, lints, documentation, dependencies
	@.ci/run deps fmt clippy doc deny

build: deps ## Build the program for this machine's CPU, as target/vault
	@. scripts/native-flags && cargo build --locked --release && ln -sf "$$CARGO_TARGET_DIR/release/vault" target/vault

install: deps ## Install the program, so built, in ~/.cargo/bin
	@. scripts/native-flags && cargo install --locked --path .

dist: deps ## Pack the program for this platform into target/dist: an archive, a .deb, checksums; BINARY=FILE packs that one
	@BINARY="$(BINARY)" PROFILE="$(PROFILE)" scripts/dist

bench: build ## Measure the program on a folder of Markdown, ARGS=FOLDER
	@. scripts/native-flags && benches/run --binary target/vault $(ARGS)

bench-onnx: build ## Compare embedding with ONNX Runtime, on the same weights
	@. scripts/native-flags && benches/onnx/run

bench-report: build ## Measure how the program grows with the vault (half an hour), ARGS=FOLDERS, into docs/performance/
	@. scripts/native-flags && benches/report --binary target/vault $(ARGS)

clean: ## Remove everything that was built
	@cargo clean

deps:
	@scripts/install-build-deps
