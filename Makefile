# SPDX-License-Identifier: Apache-2.0
# The front door: a thin face over the CMake presets (release, asan, tsan) of CMakePresets.json.
# `make help` lists what there is.
PRESET ?= release
PREFIX ?= $(CURDIR)/install
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

.DEFAULT_GOAL := help
.PHONY: help demo check check-full build test stress install bench peers format tools clean

help: ## show this list
	@echo "weft: an MPI library for many-core nodes. Targets (PRESET=release|asan|tsan, JOBS=n):"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | \
	  awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

demo: tools ## build, then run a heat equation with 4 ranks as processes and as threads
	@JOBS=$(JOBS) scripts/build.sh $(PRESET) --target demo
	@scripts/demo.sh $(BUILD)

check: tools ## build and run all tests: release, then ASan+UBSan, then TSan
	@JOBS=$(JOBS) scripts/check.sh

check-full: tools ## check, and the long tests (stress, conformance suites)
	@JOBS=$(JOBS) scripts/check.sh --full

build: tools ## build the library, launcher, tools and tests into build/release
	@JOBS=$(JOBS) scripts/build.sh $(PRESET)

test: build ## run the tests of one preset
	@scripts/ctest.sh $(PRESET)

stress: build ## ten minutes of mixed calls from 8 threads, ranks as processes, then as threads
	@scripts/ctest.sh $(PRESET) -R 'stress\.long' --timeout 1200 -V

install: build ## install; PREFIX=dir says where (default: ./install)
	@cmake --install $(BUILD) --prefix $(abspath $(PREFIX))
	@echo "installed; add $(abspath $(PREFIX))/bin to PATH"

bench: build ## compare weft with the MPI libraries that are there (see bench/README.md)
	@python3 bench/run.py --weft $(BUILD)

peers: ## install MPICH, Open MPI and Intel MPI from PyPI under build/peers, for `make bench`
	@bench/peers

format: ## format the C and C++ files with clang-format-16
	@scripts/format.sh

tools:
	@scripts/bootstrap.sh

clean: ## remove the build trees
	@rm -rf build/release build/asan build/tsan
