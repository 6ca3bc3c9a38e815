import ArgumentParser
import Platform
import SnapshotSync
import StrictText

/// Completes the commands of the program in a hint, so that they run when they are pasted.
///
/// The engine writes `snapsync import`, and does not know how the database was named. If this run got it with `--db`, each command that takes one
/// gets the same, unless it names one, or the hint says that it is for another device: `snapsync sync on desk`. So it is with a database as a location.
struct HintCommands {
    /// `--db FILE` as this run got it; nil if it got none.
    let option: String?

    init(in words: [String] = ProgramArguments.words) {
        let value = words.lastIndex(of: "--db").flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
        let location = LocationOptions.commands.contains(words.first ?? "") ? words.dropFirst().first(where: SnapshotInspector.isDatabase) : nil
        option = (value ?? words.last { $0.exact.hasPrefix("--db=") }.map { String($0.dropFirst(5)) } ?? location).map { "--db \($0.shellWord)" }
    }

    func complete(_ text: String) -> String {
        guard option != nil, text.exact.contains("snapsync ") else { return text }
        var clauses = [""]
        for scalar in text.unicodeScalars {
            if [";", "(", ")"].contains(scalar) { clauses += [String(scalar), ""] } else { clauses[clauses.count - 1].unicodeScalars.append(scalar) }
        }
        return clauses.map(completed).joined()
    }

    private func completed(_ clause: String) -> String {
        let isElsewhere = [" on ", " there", "have the writer run"].contains { " \(clause)".exact.contains($0) }
        guard let option, !isElsewhere else { return clause }
        var words = clause.exact.split(separator: " ", omittingEmptySubsequences: false), rest = words.indices
        while let start = rest.first(where: { words[$0].exact.hasSuffix("snapsync") }) {
            let next = words.indices.dropFirst(start + 1).first { words[$0].exact.hasSuffix("snapsync") } ?? words.count
            rest = next..<words.count
            // What follows a command in a sentence is none of its arguments.
            let ends = (start + 1..<next).reversed().lazy.compactMap { end in Self.takesDatabase(words[start + 1...end]).map { (end, $0) } }
            guard !words[start..<next].contains(where: { ["--db", "--cloud"].contains($0) }), case (let end, true)? = ends.first else { continue }
            let word = Self.withoutComma(words[end])
            words[end] = "\(word) \(option)\(words[end].dropFirst(word.count))"
        }
        return words.joined(separator: " ")
    }

    /// Whether a command takes a database; nil if the words are no command.
    private static func takesDatabase(_ words: ArraySlice<String>) -> Bool? {
        guard let last = words.last, let command = try? Snapsync.parseAsRoot(words.dropLast() + [withoutComma(last)]) else { return nil }
        return Snapsync.usageString(for: type(of: command)).exact.contains("--db")
    }

    private static func withoutComma(_ word: String) -> String { word.exact.hasSuffix(",") ? String(word.dropLast()) : word }
}
