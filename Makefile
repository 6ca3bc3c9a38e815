# The usual jobs. `make demo` and `make test` install what is missing, build, and run.

SWIFT ?= swift
PREFIX ?= /usr/local

HISTORIES ?= 2000

.PHONY: help setup build demo test torture bench install clean

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

setup: ## install the system libraries that are missing
	@Scripts/setup.sh

build: setup ## build the command, optimised
	$(SWIFT) build -c release --product snapsync

demo: build ## the main job, step by step, on made-up data
	@"$$($(SWIFT) build -c release --show-bin-path)/snapsync" demo

test: setup ## build and run all tests
	@Scripts/check_rooms.sh
	$(SWIFT) build --build-tests --explicit-target-dependency-import-check=error
	$(SWIFT) test --skip-build

torture: setup ## thousands of random histories of peers, and eight processes that are killed for longer; prints its seeds
	$(SWIFT) build --build-tests
	SNAPSYNC_TORTURE=$(HISTORIES) $(SWIFT) test --skip-build --filter "PeerSimulationTests|PeerProcessesTests|PowerCutTests|RepairCutTests|EveryDamageTests"

bench: setup ## ours, as installed, and its competitors in turn; prints ratios and goals (ONLY=datasets or ONLY=cloud: one half)
	@Benchmarks/run.sh

install: setup ## install snapsync, with Swift's library inside it, into PREFIX (default /usr/local)
	$(SWIFT) build -c release --product snapsync --static-swift-stdlib --scratch-path .build-static
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -s -m 755 "$$($(SWIFT) build -c release --static-swift-stdlib --scratch-path .build-static --show-bin-path)/snapsync" "$(DESTDIR)$(PREFIX)/bin/snapsync"

clean: ## remove what was built
	rm -rf .build .build-static
