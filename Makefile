# `make demo` shows what schedlab is for, `make test` checks it. Both install what is missing (scripts/need).
export OUT ?= out/demo
PREFIX     ?= /usr/local
DESTDIR    ?=
# Where cargo builds, and where the tests' kernels are kept.
TARGET     := $(or $(CARGO_TARGET_DIR),target)
export SCHEDLAB_CACHE_DIR ?= $(CURDIR)/target/kernels
BINARY     ?= $(TARGET)/release/schedlab
SUDO       := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
STATIC     := $(shell uname -m)-unknown-linux-musl

.PHONY: demo test soak lint build build-tests kernels docs release static install uninstall deb tar wheel test-packages stress fuzz clean help
help:
	@echo 'make demo           two experiments and one page, in about 4 minutes from a fresh clone: two readers on a modelled disk, and the'
	@echo '                    schedulers of this kernel on a temporary loop device'
	@echo 'make install        build for use and install under PREFIX ($(PREFIX)), below DESTDIR if it is set; make uninstall removes it'
	@echo 'make deb            a Debian package in $(TARGET)/package;  make tar: a static program that runs on any Linux'
	@echo 'make wheel          the Python package, in $(TARGET)/package'
	@echo 'make test           run every check and test'
	@echo 'make soak           the long variants of tests, 1,000 switches of schedulers in a kernel that checks itself, fuzzing: hours'
	@echo 'make docs           render the reference pages, check the links and commands of all pages, build the book in out/book'
	@echo 'make test-packages  install, use and remove each package, as root (part of CI, not of make test)'
	@echo 'make stress         switch schedulers under load in a kernel that checks itself (not part of make test)'
	@echo 'make fuzz           feed every parser and scheduler with made-up input, 20 seconds each (not part of make test)'

# The profile that tests use too; the minimal build, without what needs many crates.
build:
	@scripts/need build
	@echo 'compiling: about 2 minutes on two CPUs the first time'
	cargo build -p schedlab --no-default-features --locked

demo: build
	@scripts/need demo
	scripts/demo $(TARGET)/debug/schedlab

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings -D clippy::too_many_lines
	@scripts/deny
	@scripts/need test
	target/tools/python/bin/typos

test:
	@scripts/need build bpf kernel test
	$(MAKE) build-tests
	$(MAKE) -j2 --output-sync=line kernels lint
	scripts/test

# What takes too long for every change; before a release (docs/decisions/0034-levels-of-tests.md).
soak:
	@scripts/need build bpf kernel test
	$(MAKE) build-tests kernels KERNELS='debian:6.1 debian:6.12 debian:7.2 debian:7.3'
	$(TARGET)/debug/schedlab kernel build --source debian:7.3 --hz 1000 --smp
	SCHEDLAB_SOAK=1 SCHEDLAB_MUST_RUN_ALL=1 scripts/test
	$(MAKE) stress fuzz

# Every test, and the program that the end-to-end tests start.
build-tests:
	cargo test --workspace --no-run --locked

# The kernel that the tests boot: minutes the first time, nothing later. Tests of other releases are skipped without them.
KERNELS ?= debian:6.1
kernels: build-tests
	for kernel in $(KERNELS); do $(TARGET)/debug/schedlab kernel build --source $$kernel || exit 1; done
	$(TARGET)/debug/schedlab kernel build --source debian:6.1 --hz 1000

# What packages contain: built for size and speed, with a profile. PROFILE=none or `cargo build --release` is faster;
# FEATURES=s3 adds fleets in a bucket.
release:
	@scripts/need build bpf
	scripts/release

# The same without any library of the system.
static: export CC_$(subst -,_,$(STATIC)) ?= cc
static:
	@scripts/need build bpf
	rustup target add $(STATIC)
	scripts/release $(STATIC)

# As root with a binary that is there already, nothing is compiled.
install: $(if $(wildcard $(BINARY)),,release)
	scripts/package install $(BINARY) $(PREFIX) $(DESTDIR)

uninstall:
	scripts/package uninstall $(PREFIX) $(DESTDIR)

deb: release
	scripts/package deb $(BINARY) $(TARGET)/package

tar: static
	scripts/package tar $(TARGET)/$(STATIC)/release/schedlab $(TARGET)/package

# The Python package, for every Python from 3.10 on.
wheel:
	@scripts/need build test
	target/tools/python/bin/maturin build --release --locked --manifest-path python/Cargo.toml --out $(TARGET)/package

# Packages are tested without a profile, which would double the builds.
test-packages: export PROFILE ?= none
# Without a network for rustup the static program is left out, and a line says so.
test-packages: release
	@if rustup target add $(STATIC); then $(MAKE) static; \
	else echo 'SKIPPED: the static program, for rustup cannot add the target $(STATIC) here'; rm -f $(TARGET)/$(STATIC)/release/schedlab; fi
	cargo test -p lab -p recorder --no-default-features --lib --locked file
	cargo test -p fleet --lib --locked bucket
	@scripts/need package
	scripts/test-wheel
	$(SUDO) scripts/test-packages $(BINARY) $(TARGET)/$(STATIC)/release/schedlab

# The book. What `make test` checks of it needs no mdBook.
MDBOOK_VERSION := 0.5.4
MDBOOK         := target/tools/bin/mdbook
docs:
	@scripts/need build bpf
	UPDATE_DOCS=1 cargo test --quiet --locked -p schedlab --bin schedlab docs::
	cargo test --quiet --locked -p docs
	@$(MDBOOK) --version 2>/dev/null | grep -q 'v$(MDBOOK_VERSION)$$' || cargo install mdbook --locked --version $(MDBOOK_VERSION) \
		--no-default-features --features search --root target/tools
	$(MDBOOK) build docs

# Switches schedulers back and forth under load, with KASAN, lockdep and sleep-in-atomic checks: not part of make test, the kernel for it
# takes ten minutes to build.
SWITCHES ?= 1000
STRESSED ?= debian:7.3
stress:
	@scripts/need build bpf kernel
	cargo build --release -p schedlab --locked
	target/release/schedlab kernel exec --kernel $(STRESSED) --debug --device hp97560 --timeout 30min -- \
		sh -c 'exec sh kernel/tests/stress.sh disk0 $(SWITCHES) $$SCHEDLAB_MODULES/*-iosched.ko'

fuzz:
	@scripts/need fuzz
	scripts/fuzz all 20

clean:
	cargo clean
	rm -rf out
