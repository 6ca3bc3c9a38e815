import ArgumentParser
import Platform
import StrictText

/// Completes the commands of the program in a hint, so that they run when they are pasted.
///
/// The engine writes `snapsync import`, and does not know how the database was named. Each command that takes the database of this run gets it as its
/// first argument, unless that or an absolute path stands there already. Where the hint is for another device, `snapsync sync on desk`, it gets `DB`. So
/// it is with a location.
package struct HintCommands {
    /// The database or location of this run, which the parser sets; nil if it has none.
    package nonisolated(unsafe) static var place: String?

    /// Runs `body`, whose hints are about another database.
    package static func naming<T>(_ other: String, _ body: () -> T) -> T {
        let own = place
        defer { place = own }
        place = other
        return body()
    }

    /// The same as a word of a shell.
    package let place: String?
    private let isLocation: Bool

    package init(place: String? = Self.place) { (self.place, isLocation) = (place?.shellWord, place.map(Place.isLocation) ?? false) }

    package func complete(_ text: String) -> String {
        guard place != nil, text.exact.contains("snapsync ") else { return text }
        var clauses = [""]
        for scalar in text.unicodeScalars {
            if [";", "(", ")"].contains(scalar) { clauses += [String(scalar), ""] } else { clauses[clauses.count - 1].unicodeScalars.append(scalar) }
        }
        return clauses.map(completed).joined()
    }

    private func completed(_ clause: String) -> String {
        guard let place else { return clause }
        let isElsewhere = Self.isElsewhere(clause)
        var words = clause.exact.split(separator: " ", omittingEmptySubsequences: false), next = words.startIndex
        while let start = words[next...].firstIndex(where: { $0.exact.hasSuffix("snapsync") }) {
            let names = words[(start + 1)...].map(Self.withoutComma), path = CommandPath(names), end = start + path.count
            next = start + 1
            let isNamed = [place, "DB ", "/", "'/"].contains(where: words[min(end + 1, words.count)...].joined(separator: " ").exact.hasPrefix)
            guard path.takesDatabase, end < words.count, !isNamed else { continue }
            let word = names[path.count - 1]
            let isOther = isElsewhere || isLocation && !path.takesLocation
            words[end] = "\(word) \(isOther ? "DB" : place)\(words[end].dropFirst(word.count))"
            next = end + 1
        }
        return words.joined(separator: " ")
    }

    /// Whether a clause of a hint is for another device.
    static func isElsewhere(_ clause: String) -> Bool { [" on ", " there", "have the writer run"].contains { " \(clause)".exact.contains($0) } }

    private static func withoutComma(_ word: String) -> String { word.exact.hasSuffix(",") || word.exact.hasSuffix(":") ? String(word.dropLast()) : word }
}

/// The command that the first words of a command line name.
package struct CommandPath {
    /// The command, or the default subcommand of the one that is named.
    private(set) var command: any ParsableCommand.Type = Program.root
    /// How many words name it.
    private(set) var count = 0

    package init(_ words: [String]) {
        for word in words {
            guard let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) else { break }
            (command, count) = (next, count + 1)
        }
        if count > 0, let standard = command.configuration.defaultSubcommand { command = standard }
    }

    /// Whether the first argument is a database, or a database or location.
    package var takesDatabase: Bool { takesLocation || usage.exact.contains("<\(Place.database)>") }

    /// Whether the first argument is a database or a location.
    package var takesLocation: Bool { usage.exact.contains("<\(Place.databaseOrLocation)>") }

    private var usage: String { count == 0 ? "" : Program.root.usageString(for: command) }
}
