import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import snapsync

/// The commands in the hints that runs print: each must run when it is pasted.
enum PastedHints {
    /// Checks what a run printed, whatever the test is about.
    static func check(_ run: ProgramRun, _ words: [String], at location: SourceLocation = #_sourceLocation) {
        for line in run.errorText.split(separator: "\n") {
            guard let place = line.range(of: "hint: ") else { continue }
            for fault in faults(in: String(line[place.upperBound...]), after: words) { Issue.record("\(fault)\n\(line)", sourceLocation: location) }
        }
    }

    /// The commands of a hint that cannot be pasted.
    static func faults(in hint: String, after words: [String]) -> [String] {
        hint.split { ";()".contains($0) }.flatMap { clause in
            clause.components(separatedBy: "snapsync ").dropFirst().compactMap { fault(of: $0, in: String(clause), after: words) }
        }
    }

    private static func fault(of command: String, in clause: String, after words: [String]) -> String? {
        // What a shell would take apart in another way, or a person has to fill in.
        guard !command.contains("\""), !command.contains("'"), !command.contains("…"), !command.contains("|") else { return nil }
        let said = command.split(separator: " ").map { $0.trimmingCharacters(in: [",", ".", ":", "\"", "}"]) }.map { $0 == "N" ? "1" : $0 }
        guard let first = said.first, Snapsync.configuration.subcommands.contains(where: { $0.configuration.commandName == first }) else { return nil }
        // A command ends where prose begins, which its options never follow.
        let options = said.lastIndex { $0.hasPrefix("--") } ?? 0
        let parsed = (options + 1...said.count).reversed().lazy.compactMap { end in
            (try? Snapsync.parseAsRoot(Array(said.prefix(end)))).map { (Array(said.prefix(end)), type(of: $0)) }
        }
        // Without an option, it names the command: what it needs, a person decides.
        guard let (pasted, type) = parsed.first else { return options > 0 ? "it does not parse: snapsync \(command)" : nil }
        let isElsewhere = [" on ", " there", "have the writer run"].contains { " \(clause)".contains($0) }
        let needs = words.contains("--db") && Snapsync.usageString(for: type).contains("--db") && !isElsewhere
        return needs && !pasted.contains("--db") && !pasted.contains("--cloud") ? "it lacks --db: snapsync \(command)" : nil
    }
}

struct PastedHintTests {
    @Test(arguments: [
        ("run snapsync import first", "run snapsync import --db 'a b.db' first"), ("update snapsync on this device", "update snapsync on this device"),
        ("run snapsync sync on desk, then here again", "run snapsync sync on desk, then here again"),
        (
            "snapsync cat t shows it; else: snapsync sync --allow-shrink t",
            "snapsync cat t --db 'a b.db' shows it; else: snapsync sync --allow-shrink t --db 'a b.db'"
        ),
        ("snapsync member approve x", "snapsync member approve x --db 'a b.db'"),
        ("snapsync member, or snapsync conflicts", "snapsync member, or snapsync conflicts --db 'a b.db'"),
        ("run: snapsync sync --db c.db", "run: snapsync sync --db c.db"),
        ("make one with: snapsync licence key FILE", "make one with: snapsync licence key FILE"),
        ("snapsync conflicts", "snapsync conflicts --db 'a b.db'"),
    ]) func commandGetsTheDatabaseOfItsRun(_ hint: String, _ completed: String) {
        #expect(HintCommands(in: ["sync", "--db", "a b.db"]).complete(hint) == completed)
        #expect(HintCommands(in: ["sync", "--db=a b.db", "--quiet"]).complete(hint) == completed)
        #expect(HintCommands(in: ["status", "--cloud", "c"]).complete(hint) == hint)
    }
}
