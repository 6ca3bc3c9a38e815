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

            EXAMPLES
              snapsync sync --db phone.db
              snapsync sync --db phone.db --allow-shrink notifications
              */15 * * * * snapsync sync --quiet --db /var/lib/app/phone.db
            """)

    @OptionGroup var database: DatabaseOptions
    @Flag(name: .long, help: "Print nothing when all is well.")
    var quiet = false
    @OptionGroup var shrinking: ShrinkOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await Self.run(database.prepare(output, isQuiet: quiet), isQuiet: quiet, allowing: shrinking.approval, printer: output.printer)
    }

    /// Does what the role does, and says what that was.
    static func run(_ engine: SyncEngine, isQuiet: Bool, allowing allowed: ShrinkApproval = .none, printer: Printer) async throws {
        let progress = isQuiet ? nil : ProgressLine.handler(isJSON: printer.isJSON)
        try await printer.run {
            defer { progress?.line.clear() }
            // Who turned sync off knows; cron need not tell him every quarter of an hour.
            if isQuiet, try await engine.gate.decision().reason?.code == .preferenceOff { return }
            let report = try await engine.sync(allowing: allowed, progress: progress?.handler)
            progress?.line.clear()
            guard isQuiet else {
                return try printer.print(report, (report.imported?.lines ?? []) + (report.exported?.lines ?? []) + (report.messages?.lines ?? []))
            }
            // Not all is well, then: what a run left undone, it would leave undone unseen.
            try report.printNotices()
        }
    }
}
