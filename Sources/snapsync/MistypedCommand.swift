import ArgumentParser

/// A mistyped command: a word in a command's place that is no command but resembles one.
///
/// The argument parser suggests only options, not commands.
struct MistypedCommand {
    /// The word that the user typed.
    let word: String
    /// The command that is most similar.
    let suggestion: String

    /// Searches `words`, the arguments without the program's name, for a mistyped command; nil if there is none.
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
            // Two differences are one wrong letter, two swapped letters, or two missing or extra letters.
            guard let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= 2 else { return nil }
            self.word = word
            suggestion = nearest.name
            return
        }
        return nil
    }

    var error: ValidationError { ValidationError("Unknown command '\(word)'. Did you mean '\(suggestion)'?") }
}
