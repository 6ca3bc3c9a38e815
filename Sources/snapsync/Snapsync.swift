import ArgumentParser
import Logging
import Platform

/// The root command. Each command parses its arguments, calls one method of the engine, and prints the result.
@main
struct Snapsync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapsync",
        abstract: "Moves whole datasets from one SQLite database to others through a shared directory.",
        discussion: """
            A writer publishes versions; readers import them, delete-then-insert, in one transaction. \
            Every version is complete and readable by itself: zcat FILE | jq .

            EXAMPLES
              snapsync demo
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --tables all
              snapsync sync --db app.db
              snapsync init --db copy.db --cloud /mnt/share/cloud --role reader --create
              snapsync sync --db copy.db

            EXIT CODES
              0 done, or nothing to do    64 usage             65 data refused (damaged, rolled back)
              66 nothing there            69 cloud unavailable 74 input or output failed
              75 try again later          77 permission        78 a guard or the configuration said no
            """,
        version: version,
        subcommands: [
            DemoCommand.self, InitCommand.self, DescribeCommand.self, DetachCommand.self, RelocateCommand.self, MirrorCommand.self, DeviceCommand.self,
            MemberCommand.self,
            KeyCommand.self, SignCommand.self, SealCommand.self,
            GenerateCommand.self,
            ExportCommand.self, ImportCommand.self, SyncCommand.self, WatchCommand.self, ScheduleCommand.self,
            EnableCommand.self, DisableCommand.self, LicenceCommand.self, OpenCommand.self, MigrateCommand.self,
            StatusCommand.self, HistoryCommand.self, CatCommand.self, VerifyCommand.self, RepairCommand.self, DoctorCommand.self, ReportCommand.self,
            ExplainCommand.self,
            MessagesCommand.self,
            ConflictsCommand.self,
            ShareCommand.self,
            PlanCommand.self, ApplyCommand.self, DiffCommand.self, RestoreCommand.self, UndoCommand.self, ReplaceCommand.self,
            PinCommand.self, UnpinCommand.self, PruneCommand.self,
        ])

    /// If the root command has a version, the parser adds `--version` to the help of every command, where it conflicts with the `--version N` of
    /// `cat` and others. So there is no version if the arguments name a command.
    private static var version: String { ProgramArguments.words.contains { !$0.hasPrefix("-") && $0 != "help" } ? "" : "0.2.0" }

    static func main() async {
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        let words = ProgramArguments.words
        guard !words.isEmpty || StandardStream.isAnyTerminal else { exit(withError: ValidationError("No command was given. snapsync --help lists them.")) }
        guard let line = FastPathArguments(words) else {
            if let mistyped = MistypedCommand(in: words) { exit(withError: mistyped.error) }
            return await main(words)
        }
        do {
            try await line.run()
        } catch {
            exit(withError: error)
        }
    }
}
