# Two commands: `make demo` does the main job, `make test` proves it. Both install what is missing (scripts/need).
DEVICE     ?= loop:512M
SCHEDULERS ?= none,mq-deadline,kyber,bfq
WORKLOAD   ?= oltp,mixed
BUDGET     ?= 80s
OUT        ?= out/demo
# Where the tests' kernels are kept.
export SCHEDLAB_CACHE_DIR ?= $(CURDIR)/target/kernels
SUDO       := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test lint build kernels stress fuzz clean help
help:
	@echo 'make demo   compare the I/O schedulers of this kernel on a temporary loop device, and write a report (about 2 minutes)'
	@echo '            of your own disk:  make demo DEVICE=/dev/sdb WORKLOAD=randread     (reads only: no data is touched)'
	@echo 'make test   run every check and test'
	@echo 'make stress switch schedulers under load in a kernel that checks itself (not part of make test)'
	@echo 'make fuzz   feed every parser and scheduler with made-up input, 20 seconds each (not part of make test)'

build:
	@scripts/need build
	cargo build --release --locked

demo: build
	@scripts/need demo
	rm -rf $(OUT)
	$(SUDO) target/release/schedlab compare --device $(DEVICE) --schedulers $(SCHEDULERS) --workload $(WORKLOAD) \
		--budget $(BUDGET) --out $(OUT)

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo run --quiet -p lint --locked -- cycles layers

test:
	@scripts/need build kernel test
	$(MAKE) lint kernels
	cargo test --workspace --locked

# The kernel that the tests boot: minutes the first time, nothing later.
kernels:
	cargo build -p schedlab --locked
	target/debug/schedlab kernel build

# Switches schedulers back and forth under load, with KASAN, lockdep and sleep-in-atomic checks: not part of make test, the kernel for it
# takes ten minutes to build.
SWITCHES ?= 1000
stress:
	@scripts/need build kernel
	cargo build --release -p schedlab --locked
	target/release/schedlab kernel exec --kernel debian:6.12 --debug --device hp97560 --timeout 30min -- \
		sh -c 'exec sh kernel/tests/stress.sh disk0 $(SWITCHES) $$SCHEDLAB_MODULES/*-iosched.ko'

fuzz:
	@scripts/need fuzz
	scripts/fuzz all 20

clean:
	cargo clean
	rm -rf out
