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
            Syncs whenever there is something to sync, until SIGTERM or SIGINT. Then it finishes the run under way, and the exit code is \
            0. The file system's events (inotify) wake it when any program changes the database or the cloud; each run finds out again \
            what there is to do. A poll backs the events up. Where the file system does not report what other machines change (NFS, CIFS, \
            FUSE), or the system's limit of watches is reached, watch only polls, and says so once. Nothing is locked between runs, so \
            runs of cron may go on beside it.

            The first change after a quiet time is synced at once (with the journal modes TRUNCATE and PERSIST after the debounce). The \
            changes that follow it are one more run (--debounce); during a steady stream of changes a run starts every second at the latest.

            Errors do not end a watch: it reports each once on standard error, and prints all is well again when the error is over. It \
            retries errors that may pass (69, 74, 75) after 0.1 s, then after twice as long each time, up to the poll interval, with jitter. \
            It retries errors that need somebody (65, 77, 78 and the others) at the poll interval. It reports an overlapping run or a file \
            that is arriving only if that lasts ten seconds. If a cloud directory vanishes and comes back, or another file takes the place \
            of the database, watch continues with it. Only at its start does a database that is missing or not set up end it.

            EXAMPLES
              snapsync watch --db phone.db
              snapsync watch --db watch.db --poll 5s --json
              snapsync watch --db phone.db --page /srv/www/sync.html --heartbeat https://monitor.example/ping/phone
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("How often to check although no event came, from 100ms; a tenth more or less by chance.", valueName: "time"))
    var poll = TimeSpan(.seconds(30), "30s")
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How long the database must be left alone before changes that follow a run are taken up; at most a second, or this if it is longer.
            """, valueName: "time"))
    var debounce = TimeSpan(.milliseconds(20), "20ms")
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Write the page of report there after each sync and each error that it prints; with pauses of nine times as long as it takes, and of \
            a minute at most.
            """, valueName: "file"), completion: .file())
    var page: String?
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard poll.duration >= .milliseconds(100) else { throw ValidationError("The poll must be at least 100ms.") }
        guard debounce.duration <= .seconds(60) else { throw ValidationError("The debounce must be at most 60s.") }
    }

    func run() async throws {
        let path = try database.file.path()
        let options = WatchOptions(poll: poll.duration, debounce: debounce.duration, maximumDelay: max(.seconds(1), debounce.duration))
        let cloud = database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD")
        let watcher = SyncWatcher(database: path, cloud: cloud, options: options)
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
