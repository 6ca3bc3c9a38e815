import ArgumentParser
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CommandSupport
@testable import snapsync

/// The commands in the hints that runs print: each must run when it is pasted.
enum PastedHints {
    /// The hints that were run, without their numbers and the scene's folder.
    private static let known = Mutex<Set<String>>([])

    /// Checks what a run printed, whatever the test is about.
    ///
    /// - Parameters:
    ///   - words: the command's arguments.
    ///   - folder: where it ran. A hint runs in a copy.
    static func check(
        _ run: ProgramRun, _ words: [String], in folder: String, environment: [String: String], at location: SourceLocation = #_sourceLocation
    ) {
        Program.root = Snapsync.self
        for line in run.errorText.split(separator: "\n") {
            guard let place = line.range(of: "hint: ") else { continue }
            for clause in line[place.upperBound...].split(whereSeparator: { ";()".contains($0) }) {
                for command in clause.components(separatedBy: "snapsync ").dropFirst() {
                    let fault =
                        switch pasted(command, in: String(clause), after: words) {
                        case .prose: String?.none
                        case .wrong(let fault): fault
                        case .runs(let arguments): fault(running: arguments, of: line[place.upperBound...], in: folder, environment)
                        }
                    if let fault { Issue.record("\(fault)\n\(line)", sourceLocation: location) }
                }
            }
        }
    }

    /// Runs a hint's command in a copy of the folder, once for each hint. What it ends with is its own affair, but it must be a command.
    private static func fault(running arguments: [String], of hint: some StringProtocol, in folder: String, _ environment: [String: String]) -> String? {
        let form = hint.replacingOccurrences(of: folder, with: "").filter { !$0.isNumber }
        guard !["watch", "serve"].contains(arguments[0]), known.withLock({ $0.insert(form).inserted }) else { return nil }
        do {
            let copy = try ScratchDirectory()
            try copy.copy(folder, to: "there")
            let there = copy.path("there"), moved = { (text: String) in text.replacingOccurrences(of: folder, with: there) }
            // A database knows its cloud and its other files by absolute paths.
            for name in arguments where name.hasSuffix(".db") && copy.exists("there/\(name)") {
                _ = try? SQLiteShell(name, in: there).run("UPDATE snapsync_settings SET value = replace(value, '\(folder)', '\(there)')")
            }
            let run = try BuiltCommand.run(arguments.map(moved), in: there, environment: environment.mapValues(moved))
            // Some commands ask a person.
            guard !run.errorText.contains("Standard input is not a terminal") else { return nil }
            return run.status == 64 || run.status > 128 ? "pasted, it ends with \(run.status): snapsync \(arguments): \(run.errorText)" : nil
        } catch {
            return "\(error)"
        }
    }

    private enum Pasted {
        /// What a shell would take apart in another way, or a person has to fill in.
        case prose
        case wrong(String)
        case runs([String])
    }

    private static func pasted(_ command: String, in clause: String, after words: [String]) -> Pasted {
        guard !command.contains("\""), !command.contains("'"), !command.contains("…"), !command.contains("|") else { return .prose }
        let typed = command.split(separator: " ").prefix { $0 != "&&" }, end = typed.firstIndex { $0.hasSuffix(",") }.map { $0 + 1 } ?? typed.endIndex
        let said = typed[..<end].map { $0.trimmingCharacters(in: [",", ".", ":", "\"", "}"]) }
            .map { ["N": "1", "DB": "there.db"][$0] ?? $0 }
        guard let first = said.first, Snapsync.configuration.subcommands.contains(where: { $0.configuration.commandName == first }) else { return .prose }
        let isElsewhere = HintCommands.isElsewhere(clause)
        // A command ends where prose begins, which its options never follow.
        let options = said.lastIndex { $0.hasPrefix("--") } ?? 0
        func parsed(_ said: [String], from first: Int) -> [String]? {
            (first...said.count).reversed().lazy.map { Array(said.prefix($0)) }.first { (try? Snapsync.parseAsRoot($0)) != nil }
        }
        // Without an option, it names the command: what it needs, a person decides.
        guard let pasted = parsed(said, from: options + 1) else {
            return options > 0 ? .wrong("it does not parse: snapsync \(command)") : .prose
        }
        let hasDatabase = words.dropFirst(CommandPath(words).count).contains { $0.hasSuffix(".db") }, names = pasted.contains { $0.hasSuffix(".db") }
        let needs = hasDatabase && CommandPath(pasted).takesDatabase
        guard !needs || names || pasted.contains(where: { $0.contains("/") }) else { return .wrong("it lacks the database: snapsync \(command)") }
        return isElsewhere || !names ? .prose : .runs(pasted)
    }
}

struct PastedHintTests {
    @Test(arguments: [
        ("run snapsync import first", "run snapsync import 'a b.db' first"), ("update snapsync on this device", "update snapsync on this device"),
        ("run snapsync sync on desk, then here again", "run snapsync sync DB on desk, then here again"),
        (
            "snapsync show t shows it; else: snapsync sync --allow-shrink t",
            "snapsync show 'a b.db' t shows it; else: snapsync sync 'a b.db' --allow-shrink t"
        ),
        ("snapsync zone approve x", "snapsync zone approve 'a b.db' x"),
        ("if it is on purpose: snapsync sync 'a b.db' -n", "if it is on purpose: snapsync sync 'a b.db' -n"),
        ("snapsync zone, or snapsync conflicts", "snapsync zone, or snapsync conflicts 'a b.db'"),
        ("run: snapsync sync 'a b.db'", "run: snapsync sync 'a b.db'"),
        ("snapsync conflicts", "snapsync conflicts 'a b.db'"),
    ]) func commandGetsTheDatabaseOfItsRun(_ hint: String, _ completed: String) {
        Program.root = Snapsync.self
        #expect(HintCommands(place: "a b.db").complete(hint) == completed)
        #expect(HintCommands(place: nil).complete(hint) == hint)
    }
}
