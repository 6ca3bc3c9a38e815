import ArgumentParser
import Foundation
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
            A writer publishes versions of its tables. Readers import each version in one transaction. Peers do both. A location is a folder \
            or an s3:// bucket. The database is the first argument of a command. If SNAPSYNC_DB names it, you can leave it out.

            EXAMPLES
              snapsync demo
              snapsync init app.db /mnt/share/app
              snapsync sync app.db
              snapsync join copy.db /mnt/share/app
              snapsync sync copy.db

            EXIT CODES
              0   done, or nothing to do
              64  usage
              65  data refused: damaged, or rolled back
              66  nothing there
              69  location unavailable
              74  input or output failed
              75  try again later
              77  permission denied
              78  refused; snapsync explain 78
            """,
        version: "0.3.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Everyday",
                subcommands: [
                    InitCommand.self, JoinCommand.self, SyncCommand.self, WatchCommand.self, StatusCommand.self, ServiceCommand.self, DemoCommand.self,
                ]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    LogCommand.self, DiffCommand.self, ShowCommand.self, QueryCommand.self, GetCommand.self, ChangesCommand.self, PendingCommand.self,
                    ConflictsCommand.self, CheckCommand.self, ExplainCommand.self,
                ]),
            CommandGroup(
                name: "History",
                subcommands: [RestoreCommand.self, UndoCommand.self, PinCommand.self, PruneCommand.self, RepairCommand.self, CopyCommand.self]),
            CommandGroup(name: "Halves of sync", subcommands: [ExportCommand.self, ImportCommand.self]),
            CommandGroup(
                name: "Settings",
                subcommands: [TablesCommand.self, ConfigCommand.self, DeviceCommand.self, ZoneCommand.self, DetachCommand.self]),
            CommandGroup(name: "Application", subcommands: [ShareCommand.self, GenerateCommand.self]),
        ])

    static func main() async {
        // Without the parser, which looks at all commands first.
        if ProgramArguments.words == ["--version"] { return print(configuration.version) }
        System.shareHeap()
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        let words = ProgramArguments.words
        guard !words.isEmpty else { return print(welcome) }
        if let mistyped = MistypedCommand(in: words) { mistyped.error.exit() }
        do {
            var command = try await parse(words)
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

extension Snapsync {
    /// What the program prints without arguments.
    private static var welcome: String {
        """
        snapsync copies tables between SQLite databases through a shared folder or an s3:// bucket.

        On the machine that owns the data:
          snapsync init app.db /mnt/share/app
          snapsync sync app.db

        On each machine that needs a copy:
          snapsync join copy.db /mnt/share/app
          snapsync sync copy.db

        To edit on several machines, use init with --peers, and join with --peer.

        Often used:
          snapsync status app.db       what this database has, and how far behind it is
          snapsync sync app.db -n      what a sync would do
          snapsync log app.db          the versions; restore goes back to one
          snapsync conflicts app.db    edits that lost to later ones
          snapsync check app.db        find problems, and how to fix them
          snapsync service cron app.db --every 15m

        snapsync demo shows the main job on sample data.
        snapsync --help lists all commands, and snapsync help COMMAND describes one.
        """
    }

    /// Parses the arguments, with SNAPSYNC_DB or SNAPSYNC_LOCATION in the place of a database that is left out.
    private static func parse(_ words: [String]) async throws -> any ParsableCommand {
        let path = CommandPath(words)
        let location = path.takesLocation ? LocationOption.ofEnvironment : nil
        guard path.takesDatabase, let standard = LocationOption.environment("SNAPSYNC_DB") ?? location else { return try await asyncParseAsRoot(words) }
        var completed = words
        completed.insert(standard, at: path.count)
        if let first = words.dropFirst(path.count).first(where: { !$0.exact.hasPrefix("-") }), isPlace(first) {
            // The arguments name one.
        } else if let command = try? await asyncParseAsRoot(completed) {
            return command
        }
        return try await asyncParseAsRoot(words)
    }

    /// Whether a word is an existing file or folder, or a bucket.
    private static func isPlace(_ word: String) -> Bool { word.exact.hasPrefix("s3://") || FileManager.default.fileExists(atPath: word) }
}

/// A mistyped command: a word in a command's place that is no command. The argument parser takes such a word for an argument too many.
struct MistypedCommand {
    /// The word that the user typed.
    let word: String
    /// The command that is most similar; nil if none is similar.
    let suggestion: String?
    /// The command whose subcommand was meant: the program itself, or one such as `member`.
    let parent: any ParsableCommand.Type

    /// What other programs call a command.
    private static let elsewhere: [ExactText: String] = [
        "push": "export", "pull": "import", "clone": "join", "list": "tables list", "ls": "tables list", "backup": "copy", "cat": "show", "dump": "show",
        "history": "log", "snapshots": "log", "fsck": "check", "doctor": "check", "verify": "check --read-data", "settings": "config", "cron": "service cron",
        "remove": "detach", "plan": "sync -n", "version": "--version", "devices": "device list", "encrypt": "zone encrypt", "rollback": "restore",
        "revert": "undo", "gc": "prune", "merge": "sync",
    ]

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
            // A file in the place of a default subcommand is its database.
            guard parent.configuration.defaultSubcommand == nil || !FileManager.default.fileExists(atPath: word) else { return nil }
            // Two differences are one wrong letter, two swapped letters, or two missing or extra letters.
            let known = parent == Snapsync.self ? Self.elsewhere[word.exact] : nil
            let nearest = known ?? distances.min { $0.distance < $1.distance }.flatMap { $0.distance <= 2 ? $0.name : nil }
            // The default subcommand takes words that are no command.
            guard nearest != nil || parent.configuration.defaultSubcommand == nil else { return nil }
            (self.word, suggestion, self.parent) = (word, nearest, parent)
            return
        }
        return nil
    }

    /// The error that says so, with the usage of ``parent``.
    var error: UsageError {
        let next = suggestion.map { "Did you mean '\($0.exact.contains(" ") || $0.exact.hasPrefix("-") ? "snapsync \($0)" : $0)'?" } ?? "'\(UsageError.name(of: parent)) --help' lists the commands."
        return UsageError("Unknown command '\(word)'. \(next)", of: parent)
    }
}
