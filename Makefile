# Turnpike: what a person types. The work is done by meson and by scripts/.
#
#   make demo            a small network in namespaces, real traffic translated
#   make check           build with gcc and clang, run every test
#   make help            the rest

SHELL := /bin/bash
PREFIX ?= /usr/local
DESTDIR ?=

export KEEP

.DEFAULT_GOAL := build
.PHONY: help deps build demo demo-down check guest soak fuzz perf install clean

help:
	@echo "make build            install what the build needs, build into build/ (gcc, optimised, with symbols)"
	@echo "make demo [KEEP=1]    show real traffic going through the router; KEEP=1 leaves it running"
	@echo "make demo-down        end a demo that was left running"
	@echo "make check            build with gcc and clang, run every test, also under ASan and UBSan"
	@echo "make guest            the tests with PCI network cards and RSS, in a virtual machine (five to ten minutes)"
	@echo "make soak [MINUTES=5] mixed traffic for longer, watching losses, memory and counters"
	@echo "make fuzz [TIME=60]   garbage against the control socket and the ports"
	@echo "make perf             measure: writes docs/perf/ (eight minutes for forwarding, one for checksums)"
	@echo "make install          into PREFIX (/usr/local), below DESTDIR when set"
	@echo "make clean            remove what was built"

deps:
	@scripts/install-deps.sh build

build: deps
	@scripts/build.sh gcc

demo:
	@scripts/install-deps.sh build demo
	@scripts/build.sh gcc
	@scripts/demo.sh up

demo-down:
	@scripts/demo.sh down

check:
	@scripts/install-deps.sh build demo test
	@scripts/check.sh

guest:
	@scripts/install-deps.sh build test guest
	@scripts/build.sh gcc
	@tests/guest/run

soak:
	@scripts/install-deps.sh build demo test
	@scripts/build.sh gcc
	@tests/live/soak --minutes $(or $(MINUTES),5)

fuzz:
	@scripts/install-deps.sh build demo test
	@scripts/build.sh asan
	@tests/fuzz/run --seconds $(or $(TIME),60) --build build-asan

perf:
	@scripts/install-deps.sh build demo perf
	@scripts/build.sh gcc
	@perf/tp-perf-suite --build build
	@perf/csum-perf/report build/perf/csum-perf/csum-perf docs/perf

install: deps
	@scripts/build.sh gcc -Dprefix=$(PREFIX)
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild

clean:
	rm -rf build build-clang build-asan
