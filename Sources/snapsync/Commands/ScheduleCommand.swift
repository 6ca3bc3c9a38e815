import ArgumentParser
import Foundation
import SnapshotSync
import StrictText

/// `snapsync schedule`: prints what to install so that a sync runs at an interval.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Print a crontab line or systemd units that sync the database at intervals, or watch it.",
        discussion: """
            Print a line for crontab -e, or a service and a timer for systemd. schedule installs nothing. Paths are absolute and quoted. \
            Each database gets its own moment within the interval, so that devices do not sync at the same time. The database stores the \
            interval, and status --strict fails after three intervals without a success. For cron, the interval must divide an hour or a \
            day evenly. Otherwise schedule suggests the nearest ones.

            EXAMPLES
              snapsync schedule --db phone.db --every 15m --cron
              (crontab -l; snapsync schedule --db /var/lib/app/phone.db --every 15m --cron) | crontab -
              snapsync schedule --db phone.db --every 10m --systemd
              snapsync schedule --db phone.db --watch --systemd
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("The interval in whole seconds: 90s, 15m, 2h, 1d.", valueName: "time"))
    var every: TimeSpan?
    @Flag(name: .long, help: "With --systemd, instead of --every: print a service that runs watch all the time.")
    var watch = false
    @Flag(name: .long, help: "Print a line for a crontab.")
    var cron = false
    @Flag(name: .long, help: "Print a service (Type=oneshot, status 75 counts as success) and a timer.")
    var systemd = false
    @Flag(name: .long, help: "Also run verify --restore --quiet once a week.")
    var verifyRestore = false
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var importing: ImportCommandOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard cron != systemd else { throw ValidationError("Choose one of --cron and --systemd.") }
        guard (every == nil) == watch else { throw ValidationError("Choose one of --every TIME and --watch.") }
        guard !watch || systemd else { throw ValidationError("--watch requires --systemd, because cron does not run services.") }
        guard let every else { return }
        guard every.duration >= .seconds(1), every.duration.components.attoseconds == 0 else {
            throw ValidationError("--every must be whole seconds, at least one.")
        }
    }

    func run() async throws {
        try await output.printer.run {
            let engine = try SyncEngine.ofCommand(database: database.path())
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
            // The weekly check gets no heartbeat: the monitoring service would take it for a successful sync.
            let onFailure = outcome.onFailure.map { ["--on-failure", $0] } ?? []
            let options =
                (outcome.heartbeat.map { ["--heartbeat", $0] } ?? []) + onFailure
                + (importing.onImport.map { ["--on-import", $0] } ?? [])
            let report = try engine.schedule(
                every: every?.duration, with: cron ? .cron : .systemd, program: program, options: options, restoreCheck: verifyRestore ? onFailure : nil)
            try output.printer.print(
                report,
                (report.crontab.map { $0.exact.split(separator: "\n") } ?? [])
                    + (report.units ?? []).flatMap { $0.text.exact.split(separator: "\n", omittingEmptySubsequences: false) })
        }
    }
}
