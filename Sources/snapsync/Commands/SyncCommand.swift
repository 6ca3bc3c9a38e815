import ArgumentParser
import SnapshotSync

/// `snapsync sync`: what the role does.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Does what the role does: a writer publishes what is new, a reader imports what is newer.",
        discussion: """
            Made for cron: with --quiet, a run that went well prints nothing. A run that finds another one at work on the same
            database ends with 75 and does no harm.

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
        let engine = try database.prepare(output)
        let progress = quiet ? nil : ProgressLine.handler(isJSON: output.json)
        try await output.printer.run {
            defer { progress?.line.clear() }
            let report = try await engine.sync(allowing: shrinking.approval, progress: progress?.handler)
            progress?.line.clear()
            if !quiet { try output.printer.print(report, (report.exported?.lines ?? []) + (report.imported?.lines ?? [])) }
        }
    }
}
