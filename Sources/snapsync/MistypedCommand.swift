import ArgumentParser

/// A word where a command belongs that names none, but resembles one.
///
/// The parser suggests options, not commands.
struct MistypedCommand {
    /// The word as it was typed.
    let word: String
    /// The command that it resembles most.
    let suggestion: String

    /// Looks for such a word in `words`, the arguments without the program's name. Returns nil if there is none.
    init?(in words: [String]) {
        var commands = Snapsync.configuration.subcommands
        for word in words {
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let command = commands.first(where: { $0.configuration.commandName == word }) {
                commands = command.configuration.subcommands
                continue
            }
            let names = commands.compactMap { $0.configuration.commandName }
            let distances = names.map { (name: $0, distance: $0.hasPrefix(word) ? 0 : word.difference(from: $0).count) }
            // Two differences are one other letter, two letters that changed places, or two that are missing or too many.
            guard let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= 2 else { return nil }
            self.word = word
            suggestion = nearest.name
            return
        }
        return nil
    }

    var error: ValidationError { ValidationError("Unknown command '\(word)'. Did you mean '\(suggestion)'?") }
}
