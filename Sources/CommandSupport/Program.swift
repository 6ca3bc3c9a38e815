// What the commands use, in each of their files.
@_exported public import ObjectCloud
@_exported public import SnapshotEngine
@_exported public import SnapshotHistory
@_exported public import SnapshotQuery
@_exported public import SnapshotTools
@_exported public import SnapshotVersions
@_exported public import SnapshotWatch
@_exported public import SyncRuns
package import ArgumentParser
import Foundation
import Logging
import Platform
package import StrictText

/// A program of commands: parses its arguments, runs the command that they name, and prints errors.
package enum Program {
    /// The root command.
    package nonisolated(unsafe) static var root: any AsyncParsableCommand.Type = NoCommand.self

    private struct NoCommand: AsyncParsableCommand {}

    /// Runs the program.
    ///
    /// - Parameters:
    ///   - welcome: what it prints without arguments; nil for the help.
    ///   - elsewhere: what other programs call a command, for suggestions.
    package static func run(_ program: any AsyncParsableCommand.Type, welcome: String? = nil, elsewhere: [ExactText: String] = [:]) async {
        root = program
        // Without the parser, which looks at all commands first.
        if ProgramArguments.words == ["--version"] { return print(root.configuration.version) }
        System.shareHeap()
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        let words = ProgramArguments.words
        if words.isEmpty, let welcome { return print(welcome) }
        if let mistyped = MistypedCommand(in: words, elsewhere: elsewhere) { mistyped.error.exit() }
        do {
            var command = try await parse(words)
            do {
                if var asynchronous = command as? any AsyncParsableCommand { try await asynchronous.run() } else { try command.run() }
            } catch let error as ValidationError {
                // What only the run finds missing, such as a database.
                UsageError(error.message, of: type(of: command)).exit()
            }
        } catch {
            let path = CommandPath(words), first = words.dropFirst(path.count).first { !$0.exact.hasPrefix("-") }
            let lacksDatabase = path.takesDatabase && Place.environment("SNAPSYNC_DB") == nil && !(first.map(Place.isThere) ?? false)
            var text = root.fullMessage(for: error)
            if lacksDatabase, ["Error: Missing expected argument", "Error: The value '"].contains(where: text.exact.hasPrefix) {
                text = text.exact.split(separator: "\n", maxSplits: 1).joined(separator: "\n  The first argument is the database, unless SNAPSYNC_DB is set.\n")
            }
            if root.exitCode(for: error) == .validationFailure, !text.isEmpty {
                UsageError.exit(root.message(for: error), of: UsageError.name(of: root), text: text + "\n")
            }
            guard root.exitCode(for: error).isSuccess else { root.exit(withError: error) }
            let isHelp = text.exact.hasPrefix("OVERVIEW: ")
            print(isHelp ? arranged(text) : text, terminator: isHelp ? "" : "\n")
        }
    }

    /// The help with the usage broken, and a command's own options before those that it shares with others, which the parser prints first.
    private static func arranged(_ help: String) -> String {
        var blocks = [""]
        for line in help.exact.split(separator: "\n", omittingEmptySubsequences: false).map(wrapped) {
            if line.isEmpty { blocks.append("") } else { blocks[blocks.count - 1] += line + "\n" }
        }
        let shared = blocks.filter { $0.exact.hasPrefix("COMMON OPTIONS:") || $0.exact.hasPrefix("OPTIONS FOR ") }
        blocks.removeAll { block in shared.contains { $0.exact == block.exact } }
        let own = blocks.lastIndex { $0.exact.hasPrefix("OPTIONS:") } ?? blocks.count - 1
        blocks.insert(contentsOf: shared, at: own + 1)
        return blocks.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// A line of the help; the parser breaks all but the usage.
    static func wrapped(_ line: String) -> String {
        guard line.folded.hasPrefix("usage: "), line.utf8.count > 80 else { return line }
        var lines = [""], depth = 0, word = ""
        for scalar in line.unicodeScalars {
            depth += scalar == "[" ? 1 : scalar == "]" ? -1 : 0
            guard scalar == " ", depth == 0 else {
                word.unicodeScalars.append(scalar)
                continue
            }
            add()
        }
        add()
        func add() {
            if lines[lines.count - 1].isEmpty {
                lines[lines.count - 1] = word
            } else if lines[lines.count - 1].utf8.count + 1 + word.utf8.count <= 80 {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append("         \(word)")
            }
            word = ""
        }
        return lines.joined(separator: "\n")
    }

    /// Parses the arguments, with SNAPSYNC_DB or SNAPSYNC_LOCATION in the place of a database that is left out.
    private static func parse(_ words: [String]) async throws -> any ParsableCommand {
        let database = Place.environment("SNAPSYNC_DB"), location = Place.environment("SNAPSYNC_LOCATION"), path = CommandPath(words)
        // What a command takes is read off its usage, which takes a while to make.
        guard database != nil || location != nil, path.takesDatabase, let standard = database ?? (path.takesLocation ? location : nil) else {
            return try await root.asyncParseAsRoot(words)
        }
        var completed = words
        completed.insert(standard, at: path.count)
        let given = try? await root.asyncParseAsRoot(words), named = HintCommands.place
        if let given, let named, path.takesLocation ? Place.isThere(named) : Place.isThere(named) && !Place.isLocation(named) { return given }
        do { return try await root.asyncParseAsRoot(completed) } catch {
            // What is named may be a database that does not exist yet.
            HintCommands.place = named
            if let given, named != nil { return given }
            throw error
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
    init?(in words: [String], elsewhere: [ExactText: String]) {
        var parent: any ParsableCommand.Type = Program.root
        for word in words.first == "help" ? words.dropFirst() : words[...] {
            let commands = parent.configuration.subcommands
            let known = parent == Program.root ? elsewhere[word.exact] : nil
            guard !commands.isEmpty, known != nil || !word.hasPrefix("-"), word != "help" else { return nil }
            if let command = commands.first(where: { $0.configuration.commandName == word }) {
                parent = command
                continue
            }
            let names = commands.compactMap { $0.configuration.commandName }
            let distances = names.map { (name: $0, distance: $0.exact.hasPrefix(word) ? 0 : word.difference(from: $0).count) }
            // A file in the place of a default subcommand is its database.
            guard parent.configuration.defaultSubcommand == nil || !FileManager.default.fileExists(atPath: word) else { return nil }
            // Two differences are one wrong letter, two swapped letters, or two missing or extra letters.
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
        let program = UsageError.name(of: Program.root), other = parent == Program.root && suggestion?.exact.contains(" ") == true
        let next = suggestion.map { "Did you mean '\(other ? "\(program) " : "")\($0)'?" } ?? "'\(UsageError.name(of: parent)) --help' lists the commands."
        return UsageError("Unknown \(word.hasPrefix("-") ? "option" : "command") '\(word)'. \(next)", of: parent)
    }
}
