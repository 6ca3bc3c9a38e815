import ArgumentParser
import CommandSupport
import Platform
import SnapshotSync
import StrictText

/// `snapsync watch`: syncs whenever something has changed, until a signal ends it.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Sync whenever the database or the location changes, until SIGTERM or SIGINT.",
        discussion: """
            Sync whenever the database or the shared folder changes. SIGTERM or SIGINT ends watch after the current run, with exit status \
            0. File system events (inotify) start a run, and a poll backs them up. If events are not available, as with NFS, CIFS and \
            FUSE, watch only polls and reports that once. You can run sync from cron at the same time.

            The first change is synced at once, or after the debounce in the journal modes TRUNCATE and PERSIST. Later changes are \
            combined (--debounce). While changes continue, a run starts at least once a second.

            Errors do not end watch. Each is reported once on standard error, and so is its end. Errors that may pass are retried after \
            0.1 s, then after longer pauses up to the poll interval. Other errors are retried at the poll interval. An overlapping run or \
            an arriving file is reported after ten seconds. If the shared folder disappears and returns, or another file replaces the \
            database, watch continues. If the database is missing or not set up at the start, watch ends.

            EXAMPLES
              snapsync watch phone.db
              snapsync watch watch.db --poll 5s --json
              snapsync watch phone.db --heartbeat https://monitor.example/ping/phone
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("How often to check without an event, at least 100ms. It varies by 10 % at random.", valueName: "time"))
    var poll = TimeSpan(.seconds(30), "30s")
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How long the database must be unchanged before later changes are synced. The wait is at most a second, or this time if it \
            is longer.
            """, valueName: "time"))
    var debounce = TimeSpan(.milliseconds(20), "20ms")
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var importing: ImportCommandOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard poll.duration >= .milliseconds(100) else { throw ValidationError("--poll must be at least 100ms.") }
        guard debounce.duration <= .seconds(60) else { throw ValidationError("--debounce must be at most 60s.") }
    }

    func run() async throws {
        let path = try database.file.path()
        let options = WatchOptions(poll: poll.duration, debounce: debounce.duration, maximumDelay: max(.seconds(1), debounce.duration))
        let location = database.location.path
        var engine = EngineOptions()
        (engine.cloudPath, engine.keepsCloud) = (location, true)
        let watcher = SyncWatcher(options: options) { [engine] in try SyncEngine(database: path, options: engine) }
        let printer = output.printer, events = WatchPrinter(printer: printer)
        let outcome = outcome, importing = importing, (outcomes, results) = AsyncStream.makeStream(of: Result<SyncReport, SyncError>.self)
        // Commands and requests to the monitoring service block. A slow one must not delay a sync.
        async let rest: Void = WorkerThreads.host { await outcome.follow(outcomes, importing, database: path, location: location) }
        do {
            try await printer.run {
                // A cancelled watch ends between two runs.
                try await EndSignals.cancel {
                    try await watcher.run { event in
                        events.print(event)
                        switch event {
                        case .synced(let report, _, _): results.yield(.success(report))
                        case .failing(let error): results.yield(.failure(error))
                        case .started, .recovered, .polling: break
                        }
                    }
                }
            }
        } catch {
            results.finish()
            await rest
            throw error
        }
        results.finish()
        await rest
    }
}

extension OutcomeOptions {
    /// Sends heartbeats, at most one a minute, and runs the commands for failures and imports, one after another.
    fileprivate func follow(
        _ outcomes: AsyncStream<Result<SyncReport, SyncError>>, _ importing: ImportCommandOptions, database: String, location: String?
    ) async {
        var lastBeat: ContinuousClock.Instant?
        for await outcome in outcomes {
            switch outcome {
            case .failure(let error): failed(error, database: database)
            case .success(let report):
                if lastBeat.map({ $0.duration(to: .now) >= .seconds(60) }) ?? true {
                    lastBeat = .now
                    succeeded()
                }
                await importing.imported(report.imported, database: database, location: location)
            }
        }
    }
}
