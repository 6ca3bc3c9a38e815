import ArgumentParser
import Platform
import StrictText

/// Completes the commands of the program in a hint, so that they run when they are pasted.
///
/// The engine writes `snapsync import`, and does not know how the database was named. If this run got it with `--db`, each command that takes one
/// gets the same, unless it names one, or the hint says that it is for another device: `snapsync sync on desk`.
struct HintCommands {
    /// `--db FILE` as this run got it; nil if it got none.
    let option: String?

    init(in words: [String] = ProgramArguments.words) {
        let value = words.lastIndex(of: "--db").flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
        option = (value ?? words.last { $0.exact.hasPrefix("--db=") }.map { String($0.dropFirst(5)) }).map { "--db \($0.shellWord)" }
    }

    /// Returns the text with completed commands.
    func complete(_ text: String) -> String {
        guard option != nil, text.exact.contains("snapsync ") else { return text }
        var clauses = [""]
        for scalar in text.unicodeScalars {
            clauses[clauses.count - 1].unicodeScalars.append(scalar)
            if [";", "(", ")"].contains(scalar) { clauses.append("") }
        }
        return clauses.map(completed).joined()
    }

    private func completed(_ clause: String) -> String {
        let isElsewhere = [" on ", " there", "have the writer run"].contains { clause.exact.contains($0) }
        let isComplete = ["--db", "--cloud"].contains { clause.exact.contains($0) }
        guard let option, !isElsewhere, !isComplete else { return clause }
        var words = clause.exact.split(separator: " ", omittingEmptySubsequences: false), rest = words.indices
        while let start = rest.first(where: { words[$0].exact.hasSuffix("snapsync") }) {
            var command: any ParsableCommand.Type = Snapsync.self, last = start
            func name(_ position: Int) -> String { words[position].exact.split(separator: ",").first ?? "" }
            while words.indices.contains(last + 1),
                let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == name(last + 1) })
            {
                (command, last) = (next, last + 1)
            }
            rest = (last + 1)..<words.count
            let target = command.configuration.defaultSubcommand ?? command
            guard last > start, Snapsync.usageString(for: target).exact.contains("--db") else { continue }
            let name = name(last)
            words[last] = "\(name) \(option)\(words[last].dropFirst(name.count))"
        }
        return words.joined(separator: " ")
    }
}
