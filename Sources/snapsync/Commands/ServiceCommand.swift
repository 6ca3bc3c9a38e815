import ArgumentParser
import CommandSupport
import Foundation
import SnapshotSync
import StrictText

/// `snapsync service`: prints what to install so that syncs run by themselves.
struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Print a crontab line or systemd units that sync the database at intervals, or watch it.",
        discussion: """
            service installs nothing. Paths are absolute and quoted. Each database gets its own moment within the interval, so that devices do \
            not sync at the same time. Store the interval with config set interval, and status --strict fails after three intervals without a \
            success.

            EXAMPLES
              (crontab -l; snapsync service cron app.db --every 15m) | crontab -
              snapsync service systemd phone.db --every 10m
              snapsync service systemd phone.db --watch
            """,
        subcommands: [ServiceCronCommand.self, ServiceSystemdCommand.self])
}

/// `snapsync service cron`: prints a line for a crontab.
struct ServiceCronCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cron",
        abstract: "Print a line for crontab -e.",
        discussion: """
            The interval must divide an hour or a day evenly. Otherwise the nearest ones that do are suggested.

            EXAMPLE
              snapsync service cron phone.db --every 15m
            """)

    @OptionGroup var options: ServiceOptions
    @Option(name: .long, help: ArgumentHelp("The interval in whole seconds: 90s, 15m, 2h, 1d.", valueName: "time"))
    var every: TimeSpan

    func validate() throws { try ServiceOptions.validate(every) }

    func run() async throws { try await options.run(every: every, with: .cron) }
}

/// `snapsync service systemd`: prints units for systemd.
struct ServiceSystemdCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "systemd",
        abstract: "Print a service and a timer, or a service that watches.",
        discussion: """
            With --every, the service has Type=oneshot, and status 75 counts as success.

            EXAMPLES
              snapsync service systemd phone.db --every 10m
              snapsync service systemd phone.db --watch
            """)

    @OptionGroup var options: ServiceOptions
    @Option(name: .long, help: ArgumentHelp("The interval in whole seconds: 90s, 15m, 2h, 1d.", valueName: "time"))
    var every: TimeSpan?
    @Flag(name: .long, help: "Print a service that runs watch all the time.")
    var watch = false

    func validate() throws {
        guard (every == nil) == watch else { throw ValidationError("Choose one of --every TIME and --watch.") }
        if let every { try ServiceOptions.validate(every) }
    }

    func run() async throws { try await options.run(every: every, with: .systemd) }
}

/// What the subcommands of `service` have in common.
struct ServiceOptions: ParsableArguments {
    @OptionGroup var database: DatabaseFile
    @Flag(name: .long, help: "Also run check --restore -q once a week.")
    var checkRestore = false
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var importing: ImportCommandOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    static func validate(_ every: TimeSpan) throws {
        guard every.duration >= .seconds(1), every.duration.components.attoseconds == 0 else {
            throw ValidationError("--every must be whole seconds, at least one.")
        }
    }

    func run(every: TimeSpan?, with scheduler: Scheduler) async throws {
        try await output.printer.run {
            let engine = try SyncEngine.ofCommand(database: database.path())
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
            // The weekly check gets no heartbeat: the monitoring service would take it for a successful sync.
            let onFailure = outcome.onFailure.map { ["--on-failure", $0] } ?? []
            let options =
                (outcome.heartbeat.map { ["--heartbeat", $0] } ?? []) + onFailure
                + (importing.onImport.map { ["--on-import", $0] } ?? [])
            let report = try engine.schedule(
                every: every?.duration, with: scheduler, program: program, options: options, restoreCheck: checkRestore ? onFailure : nil)
            try output.printer.print(
                report,
                (report.crontab.map { $0.exact.split(separator: "\n") } ?? [])
                    + (report.units ?? []).flatMap { $0.text.exact.split(separator: "\n", omittingEmptySubsequences: false) })
        }
    }
}
