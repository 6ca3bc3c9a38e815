import ArgumentParser
import SnapshotSync

/// `snapsync sync`: what the role does.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Does what the role does: a writer publishes, a reader imports and tells what it changed, a peer imports, merges and publishes.",
        discussion: """
            Made for cron: with --quiet, a run that went well prints nothing. A run that finds another one at work on the same
            database ends with 75 and does no harm. Where sync is turned off (snapsync disable), the command ends with 78 and
            says so; with --quiet it ends with 0 and says nothing.

            --heartbeat tells a monitor that a sync ended well; a monitor that hears nothing raises the alarm, also where no sync runs any more.
            --on-failure runs a command for every exit code but 0; 75 passes by itself, as when two runs meet.

            EXAMPLES
              snapsync sync --db phone.db
              snapsync sync --db phone.db --allow-shrink notifications
              snapsync sync --db phone.db --heartbeat https://monitor.example/ping/phone --on-failure 'echo "$SNAPSYNC_ERROR" | mail -s sync me'
              */15 * * * * snapsync sync --quiet --db /var/lib/app/phone.db
            """)

    @OptionGroup var database: DatabaseOptions
    @Flag(name: .long, help: "Print nothing when all is well.")
    var quiet = false
    @OptionGroup var shrinking: ShrinkOptions
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.file.path()
        var printer = output.printer
        printer.isQuiet = quiet
        printer.failed = { outcome.failed($0, database: path) }
        let engine = try printer.open(path, cloud: database.cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD"))
        if try await Self.run(engine, isQuiet: quiet, allowing: shrinking.approval, printer: printer) { outcome.succeeded() }
    }

    /// Does what the role does, and says what that was. Returns whether anything was synced: false where the user has turned sync off.
    @discardableResult
    static func run(_ engine: SyncEngine, isQuiet: Bool, allowing allowed: ShrinkApproval = .none, printer: Printer) async throws -> Bool {
        var hasSynced = false
        let progress = isQuiet ? nil : ProgressLine.handler(isJSON: printer.isJSON)
        try await printer.run {
            defer { progress?.line.clear() }
            // Who turned sync off knows; cron need not tell him every quarter of an hour.
            if isQuiet, let code = try await engine.gate.decision().reason?.code, [.preferenceOff, .preferenceUndecided].contains(code) { return }
            let report = try await engine.sync(allowing: allowed, progress: progress?.handler)
            progress?.line.clear()
            hasSynced = true
            guard isQuiet else {
                return try printer.print(report, (report.imported?.lines ?? []) + (report.exported?.lines ?? []) + (report.messages?.lines ?? []))
            }
            // Not all is well, then: what a run left undone, it would leave undone unseen.
            try report.printNotices()
        }
        return hasSynced
    }
}
