import ArgumentParser
import Foundation
import SnapshotSync

/// `snapsync schedule`: what to install so that a sync runs every so often.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Prints a crontab line, or a systemd service and timer, that syncs the database every so often.",
        discussion: """
            Nothing is installed: the line goes into crontab -e, the units into the files that their first lines name. Each database
            has its own moment within the interval, so that devices do not all come at once. The interval is kept in the database,
            so that status --strict knows that three of them are too long without a success.

            Cron can keep 1 to 30 minutes that divide an hour, and hours that divide a day; systemd any interval.

            EXAMPLES
              snapsync schedule --db phone.db --every 15m --cron
              (crontab -l; snapsync schedule --db /var/lib/app/phone.db --every 15m --cron) | crontab -
              snapsync schedule --db phone.db --every 10m --systemd
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("How often: 90s, 15m, 2h, 1d.", valueName: "time"))
    var every: TimeSpan
    @Flag(name: .long, help: "Print a line for a crontab.")
    var cron = false
    @Flag(name: .long, help: "Print a service and a timer for systemd.")
    var systemd = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard cron != systemd else { throw ValidationError("Say for whom: --cron or --systemd.") }
        guard every.duration >= .seconds(1), every.duration.components.attoseconds == 0 else {
            throw ValidationError("The interval must be whole seconds, at least one.")
        }
    }

    func run() async throws {
        try await output.printer.run {
            let engine = try SyncEngine(database: database.path())
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
            let report = try engine.schedule(every: every.duration, with: cron ? .cron : .systemd, program: program)
            try output.printer.print(
                report,
                (report.crontab.map { [$0] } ?? [])
                    + (report.units ?? []).flatMap { $0.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) })
        }
    }
}
