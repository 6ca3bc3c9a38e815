import ArgumentParser
import StrictText

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
