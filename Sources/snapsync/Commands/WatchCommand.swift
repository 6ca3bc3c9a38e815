import ArgumentParser
import Foundation
import Platform
import SnapshotSync
import StrictText
import Synchronization

/// `snapsync watch`: syncs whenever something has changed, until a signal ends it.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Sync whenever the database or the cloud changes, until SIGTERM or SIGINT.",
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
              snapsync watch --db phone.db
              snapsync watch --db watch.db --poll 5s --json
              snapsync watch --db phone.db --page /srv/www/sync.html --heartbeat https://monitor.example/ping/phone
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
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Write the page of report to this file after each sync and each reported error, and then wait for up to a minute.
            """, valueName: "file"), completion: .file())
    var page: String?
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard poll.duration >= .milliseconds(100) else { throw ValidationError("--poll must be at least 100ms.") }
        guard debounce.duration <= .seconds(60) else { throw ValidationError("--debounce must be at most 60s.") }
    }

    func run() async throws {
        let path = try database.file.path()
        let options = WatchOptions(poll: poll.duration, debounce: debounce.duration, maximumDelay: max(.seconds(1), debounce.duration))
        let cloud = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD")
        var engine = EngineOptions()
        (engine.cloudPath, engine.keepsCloud) = (cloud, true)
        let watcher = SyncWatcher(options: options) { [engine] in try SyncEngine(database: path, options: engine) }
        let printer = output.printer, events = WatchPrinter(printer: printer)
        let followUps = WatchFollowUps(database: path, cloud: cloud, page: page, outcome: outcome)
        // Commands, requests to the monitoring service, and file writes block.
        async let rest: Void = WorkerThreads.host { await followUps.run() }
        do {
            try await printer.run {
                // A cancelled watch ends between two runs.
                try await EndSignals.cancel {
                    try await watcher.run { event in
                        events.print(event)
                        followUps.take(event)
                    }
                }
            }
        } catch {
            followUps.end()
            await rest
            throw error
        }
        followUps.end()
        await rest
    }
}

/// What a watch does in addition to syncing: it updates the page, sends heartbeats, and runs the command for failures.
///
/// These run one after another in a separate task, so that a slow monitoring service or a large page never delays a sync.
final class WatchFollowUps: Sendable {
    private struct Due {
        var isPage = false
        var isBeat = false
        var failures: [SyncError] = []
    }

    private let database: String
    private let cloud: String?
    private let page: String?
    private let outcome: OutcomeOptions
    private let due = Mutex(Due())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// The minimum time between two heartbeats.
    private static let beatInterval = Duration.seconds(60)
    /// The pause after writing a page: a multiple of the time that writing took, up to a limit, so that the page is never much older than that.
    private static let pageRest = (times: 9, limit: Duration.seconds(60))

    /// - Parameters:
    ///   - cloud: another path of the database's cloud.
    ///   - page: the path of the page; nil for none.
    init(database: String, cloud: String?, page: String?, outcome: OutcomeOptions) {
        (self.database, self.cloud, self.page, self.outcome) = (database, cloud, page, outcome)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Handles an event of the watch.
    func take(_ event: WatchEvent) {
        let isNews = due.withLock { due in
            switch event {
            case .synced: (due.isPage, due.isBeat) = (page != nil, outcome.heartbeat != nil)
            case .failing(let error):
                due.isPage = page != nil
                if outcome.onFailure != nil { due.failures.append(error) }
            case .started, .recovered, .polling: return false
            }
            return due.isPage || due.isBeat || !due.failures.isEmpty
        }
        if isNews { wake.yield() }
    }

    /// Does what is due, until ``end()`` was called and everything is done.
    func run() async {
        var lastBeat: ContinuousClock.Instant?, nextPage = ContinuousClock.now, isResting = false, printed = ""
        for await _ in wakes {
            let (failures, isBeat) = due.withLock { due in
                defer { (due.failures, due.isBeat) = ([], false) }
                return (due.failures, due.isBeat)
            }
            for error in failures { outcome.failed(error, database: database) }
            if isBeat, lastBeat.map({ $0.duration(to: .now) >= Self.beatInterval }) ?? true {
                lastBeat = .now
                outcome.succeeded()
            }
            guard due.withLock({ $0.isPage }) else { continue }
            let rest = ContinuousClock.now.duration(to: nextPage)
            guard rest <= .zero else {
                // Wait, because other syncs may end until then, and one page covers all of them.
                if !isResting {
                    isResting = true
                    Task { [wake] in
                        try? await Task.sleep(for: rest)
                        wake.yield()
                    }
                }
                continue
            }
            isResting = false
            let begin = ContinuousClock.now
            printed = await writePage(besides: printed)
            nextPage = .now + min(begin.duration(to: .now) * Self.pageRest.times, Self.pageRest.limit)
        }
        if due.withLock({ $0.isPage }) { _ = await writePage(besides: printed) }
    }

    /// Ends ``run()`` after everything that is due is done.
    func end() { wake.finish() }

    /// Writes the page. Returns the error as text, or "". An error equal to `printed` was already printed, so it is not printed again.
    private func writePage(besides printed: String) async -> String {
        guard let page else { return "" }
        due.withLock { $0.isPage = false }
        do {
            try ReportPage([await SyncEngine.ofCommand(database: database, cloud: cloud).overview()]).write(to: page)
            return ""
        } catch {
            let trouble = "the page was not written: \(error)"
            if trouble != printed { try? StandardStream.remark("warning", trouble) }
            return trouble
        }
    }
}
