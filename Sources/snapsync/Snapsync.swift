import ArgumentParser
import Logging
import Platform
import SnapshotSync
import StrictText

/// The root command. Each command parses its arguments, calls one method of the engine, and prints the result.
@main
struct Snapsync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapsync",
        abstract: "Sync tables between SQLite databases through a shared folder or a bucket.",
        discussion: """
            A writer publishes versions of its tables. Readers import each version in one transaction. Peers do both. snapsync cat prints \
            the rows of a version as JSON.

            EXAMPLES
              snapsync demo
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --tables all
              snapsync sync --db app.db
              snapsync init --db copy.db --cloud /mnt/share/cloud --role reader --create
              snapsync sync --db copy.db

            EXIT CODES
              0   done, or nothing to do
              64  usage
              65  data refused: damaged, or rolled back
              66  nothing there
              69  cloud unavailable
              74  input or output failed
              75  try again later
              77  permission denied
              78  a guard or the configuration said no; snapsync explain 78
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Everyday",
                subcommands: [DemoCommand.self, DescribeCommand.self, InitCommand.self, SyncCommand.self, ScheduleCommand.self, WatchCommand.self]),
            CommandGroup(
                name: "Inspection",
                subcommands: [
                    StatusCommand.self, ReportCommand.self, PlanCommand.self, HistoryCommand.self, DiffCommand.self, CatCommand.self, QueryCommand.self,
                    GetCommand.self, ChangesCommand.self, SchemaCommand.self,
                    ConflictsCommand.self,
                    MessagesCommand.self, ExplainCommand.self,
                ]),
            CommandGroup(
                name: "Repair", subcommands: [DoctorCommand.self, VerifyCommand.self, RepairCommand.self]),
            CommandGroup(
                name: "History",
                subcommands: [
                    RestoreCommand.self, UndoCommand.self, ReplaceCommand.self, PinCommand.self, UnpinCommand.self, PruneCommand.self,
                ]),
            CommandGroup(
                name: "Single-step",
                subcommands: [ExportCommand.self, ImportCommand.self, ApplyCommand.self, EnableCommand.self, DisableCommand.self]),
            CommandGroup(
                name: "Maintenance",
                subcommands: [DeviceCommand.self, RelocateCommand.self, MirrorCommand.self, DetachCommand.self]),
            CommandGroup(name: "Key", subcommands: [SignCommand.self, SealCommand.self, MemberCommand.self, KeyCommand.self]),
            CommandGroup(name: "Application", subcommands: [ShareCommand.self, GenerateCommand.self]),
        ])

    /// If the root command has a version, the parser adds `--version` to the help of every command, where it conflicts with the `--version N` of
    /// `cat` and others. So there is no version if the arguments name a command.
    private static var version: String { ProgramArguments.words.contains { !$0.exact.hasPrefix("-") && $0 != "help" } ? "" : "0.2.0" }

    static func main() async {
        // Without the parser, which looks at all commands first.
        if ProgramArguments.words == ["--version"] { return print(version) }
        System.shareHeap()
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        let words = ProgramArguments.words
        guard !words.isEmpty || StandardStream.isAnyTerminal else { exit(withError: ValidationError("No command was given. snapsync --help lists them.")) }
        if let mistyped = MistypedCommand(in: words) { mistyped.error.exit() }
        do {
            var command = try await asyncParseAsRoot(words)
            do {
                if var asynchronous = command as? any AsyncParsableCommand { try await asynchronous.run() } else { try command.run() }
            } catch let error as ValidationError {
                // What only the run finds missing, such as a database.
                UsageError(error.message, of: type(of: command)).exit()
            }
        } catch {
            let text = fullMessage(for: error)
            if exitCode(for: error) == .validationFailure, !text.isEmpty { UsageError.exit(message(for: error), of: "snapsync", text: text + "\n") }
            exit(withError: error)
        }
    }
}

/// A mistyped command: a word in a command's place that is no command. The argument parser takes such a word for an argument too many.
struct MistypedCommand {
    /// The word that the user typed.
    let word: String
    /// The command that is most similar; nil if none is similar.
    let suggestion: String?
    /// The command whose subcommand was meant: the program itself, or one such as `member`.
    let parent: any ParsableCommand.Type

    /// Searches `words`, the arguments without the program's name, for a mistyped command; nil if there is none. The words after `help` are
    /// searched, too.
    init?(in words: [String]) {
        var parent: any ParsableCommand.Type = Snapsync.self
        for word in words.first == "help" ? words.dropFirst() : words[...] {
            let commands = parent.configuration.subcommands
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let command = commands.first(where: { $0.configuration.commandName == word }) {
                parent = command
                continue
            }
            let names = commands.compactMap { $0.configuration.commandName }
            let distances = names.map { (name: $0, distance: $0.exact.hasPrefix(word) ? 0 : word.difference(from: $0).count) }
            // Two differences are one wrong letter, two swapped letters, or two missing or extra letters.
            let nearest = distances.min { $0.distance < $1.distance }.flatMap { $0.distance <= 2 ? $0.name : nil }
            // The default subcommand takes words that are no command.
            guard nearest != nil || parent.configuration.defaultSubcommand == nil else { return nil }
            (self.word, suggestion, self.parent) = (word, nearest, parent)
            return
        }
        return nil
    }

    /// The error that says so, with the usage of ``parent``.
    var error: UsageError {
        let next = suggestion.map { "Did you mean '\($0)'?" } ?? "'\(UsageError.name(of: parent)) --help' lists the commands."
        return UsageError("Unknown command '\(word)'. \(next)", of: parent)
    }
}
