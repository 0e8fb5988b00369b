# Makefile - the doors to the project. Each target sets up what it needs; Meson does the building.
#
#   make run        build, then show two services that send to each other (STAY=1: they stay up)
#   make run-orders the same for a small shop in C on a SQLite file (examples/orders.c)
#   make test       build and test everything; LINT=source: formatting and rules, LINT=whole: make lint, too (make test-full: under all sanitizers)
#   make proof      what make test reduces, whole: every power cut, with the counts
#   make bench      measure; options in BENCH_ARGS            (bench/README.md)
#   make lint       formatting, clang-tidy, banned functions  (make format: put the formatting right)
#   make install    into $(DESTDIR)$(PREFIX)
#   make clean      remove what was built
SHELL := /bin/bash
PREFIX ?= /usr/local
# make defines LINT itself, as 'lint'
LINT := $(if $(filter default,$(origin LINT)),,$(LINT))
RELEASE := build/run

.PHONY: all run run-orders test test-full proof bench lint format install clean

all:
	@scripts/setup build
	@test -f $(RELEASE)/build.ninja || { echo "building into $(RELEASE)"; \
	    meson setup $(RELEASE) --buildtype=release -Dtests=false >/dev/null; }
	@ninja -C $(RELEASE) >$(RELEASE)/build.log 2>&1 || { cat $(RELEASE)/build.log; exit 1; }

run: all
	@examples/run $(RELEASE) $(if $(STAY),--stay)

run-orders: all
	@examples/run-orders $(RELEASE)

test:
	@scripts/setup test $(if $(LINT),lint)
	@scripts/test

test-full:
	@scripts/setup test
	@scripts/test full

proof:
	@scripts/setup test
	@scripts/proof

bench: all
	@bench/run $(RELEASE) $(BENCH_ARGS)

lint:
	@scripts/setup lint
	@scripts/lint

format:
	@scripts/setup lint
	@scripts/lint format

install: all
	@meson configure $(RELEASE) -Dprefix=$(abspath $(PREFIX))
	@DESTDIR='$(DESTDIR)' meson install -C $(RELEASE)
	@test -n '$(DESTDIR)' || test "$$(id -u)" != 0 || ldconfig

clean:
	@rm -rf build
