import ArgumentParser
import Foundation
import Platform
import SnapshotSync

/// `snapsync watch`: sync whenever there is something to sync, until a signal ends it.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Syncs whenever the database or the cloud changes, until SIGTERM or SIGINT.",
        discussion: """
            Changes wake it through the file system's events, and a poll stands behind them for what they do not tell (NFS, other
            machines). Each run is one snapsync sync: cron runs beside it are fine. Errors do not end it: each is told once, and
            tried again. At the end a run under way is finished, and the exit code is 0.
            With --page the page of snapsync report is written anew after each sync, with pauses of nine times as long as that takes, and of a minute at most.
            A heartbeat goes out once a minute at most; the command for failures runs for each error that is told.

            EXAMPLES
              snapsync watch --db phone.db
              snapsync watch --db watch.db --poll 5s --json
              snapsync watch --db phone.db --page /srv/www/sync.html --heartbeat https://monitor.example/ping/phone
            """)

    @OptionGroup var database: DatabaseOptions
    @Option(name: .long, help: ArgumentHelp("How often to look although no event came.", valueName: "time"))
    var poll = TimeSpan(.seconds(30), "30s")
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long the database must be left alone before a change is taken up; at most a second, or this if it is longer.", valueName: "time"))
    var debounce = TimeSpan(.milliseconds(20), "20ms")
    @Option(name: .long, help: ArgumentHelp("Write the page of snapsync report there, after each sync.", valueName: "file"), completion: .file())
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
        // Commands, monitors and files block.
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
