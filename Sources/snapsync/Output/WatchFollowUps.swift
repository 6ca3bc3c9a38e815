import SnapshotSync
import StrictText
import Synchronization

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
