# Makefile - the doors to the project. Each target sets up what it needs; Meson does the building.
#
#   make run        build, then run the example on a SQLite file
#   make test       build and test everything                 (make test-full: under all sanitizers)
#   make bench      measure
#   make lint       formatting, clang-tidy, banned functions  (make format: put the formatting right)
#   make install    into $(DESTDIR)$(PREFIX)
#   make clean      remove what was built
SHELL := /bin/bash
PREFIX ?= /usr/local
RELEASE := build/run

.PHONY: all run test test-full bench lint format install clean

all:
	@scripts/setup build
	@test -f $(RELEASE)/build.ninja || meson setup $(RELEASE) --buildtype=release -Dtests=false >/dev/null
	@ninja -C $(RELEASE) --quiet

run: all
	@examples/run $(RELEASE)

test:
	@scripts/setup test
	@scripts/test

test-full:
	@scripts/setup test
	@scripts/test full

bench: all
	@bench/run $(RELEASE)

lint:
	@scripts/setup lint
	@scripts/lint

format:
	@scripts/setup lint
	@scripts/lint format

install: all
	@meson configure $(RELEASE) -Dprefix=$(abspath $(PREFIX))
	@DESTDIR='$(DESTDIR)' meson install -C $(RELEASE)

clean:
	@rm -rf build
