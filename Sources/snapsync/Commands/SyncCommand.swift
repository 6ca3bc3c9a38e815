import ArgumentParser
import SnapshotSync

/// `snapsync sync`: does the work of the role.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Publish local changes and import remote ones, according to the device's role.",
        discussion: """
            A writer applies the edits of readers and publishes. A reader imports and sends its edits to the publisher (docs/readers.md). \
            A peer imports, merges, applies the edits of readers and publishes. If another peer publishes first, it tries again. After 12 \
            lost races the sync fails, and you can run it again. Run sync from cron or systemd: schedule prints the configuration.

            EXAMPLES
              snapsync sync --db phone.db
              snapsync sync --db phone.db --allow-shrink notifications
              snapsync sync --db phone.db --heartbeat https://monitor.example/ping/phone --on-failure 'echo "$SNAPSYNC_ERROR" | mail -s sync me'
              */15 * * * * snapsync sync --quiet --db /var/lib/app/phone.db
            """)

    @OptionGroup var options: EngineArguments
    @Flag(name: .long, help: "Print only warnings, errors and the number of lost edits, on standard error, so that cron reports them.")
    var quiet = false
    @OptionGroup var shrinking: ShrinkOptions
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var importing: ImportCommandOptions

    func run() async throws {
        let path = try options.database.file.path()
        var printer = options.printer, report: SyncReport?
        printer.isQuiet = quiet
        printer.failed = { outcome.failed($0, database: path) }
        try await options.run("sync", printer: printer) { engine, progress in
            // The user who turned sync off knows it, so a quiet run, for example under cron, does not report it every time.
            let reason = quiet ? try await engine.gate.decision().reason?.code : nil
            let isOff = reason == .preferenceOff || reason == .preferenceUndecided
            do {
                report = try await engine.sync(allowing: shrinking.approval, progress: progress)
            } catch  where isOff {
                return
            }
            guard let report else { return }
            guard quiet else {
                return try printer.done(
                    report, (report.imported?.lines ?? []) + (report.exported?.lines ?? []) + (report.messages?.lines ?? []) + report.keptLines)
            }
            // A quiet run still prints warnings. Otherwise nobody would notice what every run leaves undone.
            try report.printNotices()
        }
        guard let report else { return }
        outcome.succeeded()
        await importing.imported(report.imported, database: path, cloud: options.database.cloud)
    }
}
