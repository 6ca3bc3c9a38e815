# The usual jobs. `make demo` and `make test` install what is missing, build, and run.

SWIFT ?= swift
PREFIX ?= /usr/local

# Fuzz targets, and the inputs of each.
TARGET ?= all
RUNS ?= 1000000

# The program looks for no library beside itself: whoever may write there could exchange it.
STATIC = -c release --static-swift-stdlib --disable-local-rpath --scratch-path .build-static

.PHONY: help setup build demo test test-page test-transports test-ceph torture model fuzz mutants sanitize coverage bench install deb dist test-deb docs clean

help: ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

setup: ## install the system libraries that are missing
	@Scripts/setup.sh

build: setup ## build the command, optimised
	$(SWIFT) build -c release --product snapsync

# For the tests, which start the command thousands of times: without Swift's optimiser, and without the checks of a debug build, which are half of a
# short command.
QUICK = -c release -debug-info-format none -Xswiftc -Onone -Xswiftc -enable-testing -Xswiftc -use-ld=lld --scratch-path .build-test

demo: setup ## the main job, step by step, on made-up data; builds without optimisation, in a third of the time
	$(SWIFT) build $(QUICK) --product snapsync
	@"$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" demo

# In a directory of its own: what long tests spend most time in is optimised (Package.swift), and BoringSSL.
OPTIMISED = --scratch-path .build-test -Xcc -O2
torture: export SNAPSYNC_OPTIMISED = 1

test: setup ## build and run all tests
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks
	@Tests/Model/model.sh sample
	@Scripts/counts.py
	$(SWIFT) build $(QUICK) --build-tests --explicit-target-dependency-import-check=error
	@Scripts/link_static.sh "$(SWIFT)c" "$$($(SWIFT) build $(QUICK) --show-bin-path)"
	@SNAPSYNC="$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" Sources/Readers/test.py
	@SNAPSYNC="$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" Tests/Museum/museum.py
	$(SWIFT) test --skip-build $(QUICK)

test-page: ## open the pages of `snapsync status --html` and of the JavaScript reader in Chromium, which is installed if it is missing; keeps screenshots in .build/pages
	@BROWSER=1 Scripts/setup.sh
	@python3 Tests/Page/browser.py --install
	$(SWIFT) build $(QUICK) --build-tests
	SNAPSYNC_BROWSER=1 $(SWIFT) test --skip-build $(QUICK) --filter "PageBrowserTests|PageTests"
	@SNAPSYNC_BROWSER=1 SNAPSYNC="$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" Sources/Readers/test.py Browser
	@ls .build/pages/*.png

# Real file systems and programs that move files, one script each in Tests/Transports: `make test-transports ONLY="syncthing"`.
ONLY ?=
test-transports: setup ## try the command on real file systems and sync tools; installs what each needs, skips with a reason what cannot run here (ONLY="filesystems syncthing")
	$(SWIFT) build $(QUICK) --product snapsync
	$(SWIFT) build $(QUICK) --product snapsync-examples
	@Tests/Transports/run.sh "$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" $(ONLY)

test-ceph: setup ## run the tests with a bucket on Ceph's object store, as root, and four peers on two gateways of Ceph and of SeaweedFS; installs Debian's packages
	@Tests/Servers/ceph.py --install
	$(SWIFT) build $(QUICK) --build-tests
	SNAPSYNC_BUCKET_SERVER=ceph $(SWIFT) test --skip-build $(QUICK) --filter "BucketTests|BucketFaultTests"
	@Tests/Servers/two_gateways.py "$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" ceph
	@Tests/Servers/two_gateways.py "$$($(SWIFT) build $(QUICK) --show-bin-path)/snapsync" seaweedfs

torture: setup ## long random tests, each kind in turn with new seeds, for HOURS=1 (ONLY="kills": some kinds): the model beside the command, kills, failures, power cuts, damage, parsers
	$(SWIFT) build --build-tests $(OPTIMISED)
	@Scripts/torture.py "$$($(SWIFT) build $(OPTIMISED) --show-bin-path)" --hours $(or $(HOURS),1) --only "$(ONLY)"

# Without DEPTH, a sample. DEPTH=6: all histories of six steps, more random ones, every interleaving of the log (which needs spin), and mutants.
DEPTH ?= quick
model: ## check the rules of merging and the log, without building (about half a minute; DEPTH=6: everything, about an hour)
	@Tests/Model/model.sh $(DEPTH)

fuzz: ## feed each parser what no writer writes (TARGET=json: that one alone; RUNS=1000000 each); finds go to .build/fuzz/finds
	@Scripts/fuzz.sh $(TARGET) $(RUNS)

mutants: setup ## mutants of merge, log, publish, apply, guards, sealing, parsers and disk, made by rule, and the tests that must find each: a night (COUNT=300 SEED=1)
	@Scripts/mutants.py --count $(or $(COUNT),300) --seed $(or $(SEED),1)

# The suites in which threads meet. Each test has its own database and cloud; what one thread does unknown to another is a find.
SUITES ?= WorkerThreadsTests|OrderedQueueTests|BlockingCallsTests|BlockingDatabaseTests|CloudStoreTests.ConformanceTests|DatasetExporterTests|ExportRunTests|ImportRunTests|PeerSyncTests|OwnBackendTests|CloudKitSyncManagerTests|ZoneEventsTests|ReadSessionTests|WatchTests|SnapshotObservationTests|CloudKitCloudTests|ObjectCloudTests
sanitize: setup ## run the suites with concurrency under ThreadSanitizer (SUITES="WatchTests": others)
	@Scripts/sanitize.py "$(SUITES)"

coverage: setup ## line coverage of the library by its tests, every module and the whole; fails below 90 %
	@Scripts/coverage.sh

ROWS ?= 1000000
BEFORE ?=
bench: setup ## the program that `make install` makes, beside an earlier program (BEFORE=/path/to/snapsync, ROWS=1000000); ONLY=look: reading without importing, beside Litestream and DoltLite
	@$(MAKE) --no-print-directory install DESTDIR="$(CURDIR)/build/bench" PREFIX=/usr
	$(SWIFT) build $(STATIC) --product snapsync-examples
	@cp "$$($(SWIFT) build $(STATIC) --show-bin-path)/snapsync-examples" build/bench/usr/bin/
	@if [ "$(ONLY)" = look ]; then Benchmarks/look.py build/bench/usr/bin/snapsync --rows $(ROWS); \
	else Benchmarks/bench.py build/bench/usr/bin/snapsync --rows $(ROWS) $(addprefix --before ,$(BEFORE)); fi

install: setup ## install snapsync, its manual pages and completions for bash, zsh and fish into PREFIX (default /usr/local)
	$(SWIFT) build $(STATIC) --product snapsync
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -s -m 755 "$$($(SWIFT) build $(STATIC) --show-bin-path)/snapsync" "$(DESTDIR)$(PREFIX)/bin/snapsync"
	@Scripts/install_data.sh "$(DESTDIR)$(PREFIX)"

deb: setup ## build a Debian package into build/: the program with Swift's library inside, manual pages, completions, systemd units
	@Scripts/package.sh deb build

dist: setup ## build a tarball of the same for other Linux systems, and a wheel of the reader in Python, into build/
	@Scripts/package.sh tar build
	@Scripts/package.sh wheel build

test-deb: deb ## install the package in a new Debian 12 root (debootstrap, as root), without Swift, and run the demo and the README's commands there
	@Tests/Packages/debian.sh build

# The modules with public types, each as an archive; the site joins them.
DOCUMENTED = SnapshotSync SnapshotEngine SyncRuns SnapshotHistory SnapshotTools SnapshotWatch ProjectSharing CloudKitFacade SnapshotObservation CloudKitCloud SnapshotModel CloudStore RecordZones StoreConformance
docs: setup ## build the site of the library's reference, with articles, into build/docs; fetches swift-docc-plugin
	@rm -rf build/docs && mkdir -p build
	SNAPSYNC_DOCS=1 $(SWIFT) package --allow-writing-to-directory build/docs generate-documentation $(addprefix --target ,$(DOCUMENTED)) \
		--enable-experimental-combined-documentation --transform-for-static-hosting --output-path build/docs
	@echo "build/docs: open it with: python3 -m http.server --directory build/docs 8000"

clean: ## remove what was built
	rm -rf .build .build-* build
