import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync restore`: restores the data of an earlier version.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the data of an earlier version; the next sync publishes them.",
        discussion: """
            Import the newest version, and then change the rows that differ from the earlier one, in one transaction. The next sync \
            publishes the result as a new version. Only publishers can restore. The previous data are saved: undo restores them.

            To restore one row, name its table and give a value for each column of the table's key. Other rows are not changed.

            EXAMPLES
              snapsync restore phone.db 12
              snapsync restore phone.db 2026-11-20T18:00:00Z
              snapsync restore phone.db 12 notes 17
            """)

    @OptionGroup var options: EngineArguments
    @Argument(
        help: ArgumentHelp(
            "The version, kept or pinned, or a time such as 2026-11-20T18:00:00Z, for the newest version at that time.", valueName: "version|time"))
    var moment: VersionOption.Moment
    @Argument(help: ArgumentHelp("Restore only the row with this key.", valueName: "table key"))
    var row: [String] = []

    func validate() throws {
        guard row.count != 1 else { throw ValidationError("Pass the values of the key after the table.") }
    }

    func run() async throws {
        try await options.done("restore") { engine, progress in
            let target = moment.target
            var only: RestoredRow?
            if let table = row.first { only = try await engine.inspector().database(at: target).row(Array(row.dropFirst()), of: table) }
            let report = try await engine.versions.restore(target, only: only, progress: progress)
            return (report, report.lines(ofOneRow: only != nil))
        }
    }
}

extension RestoreReport {
    /// What was restored, and where the previous data is.
    func lines(ofOneRow isOneRow: Bool = false) -> [String] {
        guard hasChanged else {
            if isOneRow { return ["nothing was changed: the row is as in \(restored)"] + notes }
            // A warning may say that not all of the state could be restored.
            return ["nothing was changed: \(warnings.isEmpty ? "the data are" : "what can be restored here is") as in \(restored)"] + notes
        }
        return ["the \(isOneRow ? "row is now that" : "data are now those") of \(restored); the next sync sends \(isOneRow ? "it" : "them") on"]
            + datasets.map { one in
                "  \(one.name): \(Format.count(one.added)) added, \(Format.count(one.changed)) changed, \(Format.count(one.removed)) removed"
                    + (one.held > 0 ? ", \(Format.count(one.held, "held row")) put back or taken away" : "")
            }
            + [Self.replaced(keptCopy, versionBefore)] + notes
    }

    /// Where the data before it is: in a copy, or as a version.
    static func replaced(_ copy: Int?, _ version: Int?) -> String {
        let kept = copy.map { "copy \($0) beside the database" } ?? version.map { "version \($0)" } ?? "nothing"
        return "  what was here before is \(kept); \(HintCommands().complete("snapsync undo brings it back"))"
    }

    private var notes: [String] { warnings.map { "  warning: \($0)" } }
}

/// `snapsync undo`: restores the data that the last restore or replacement replaced.
struct UndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Restore the data that the last restore, undo, or export or import --replace replaced.",
        discussion: """
            The next sync publishes the changes. To see what undo would restore, run status.

            EXAMPLE
              snapsync undo phone.db
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done("undo") { engine, progress in
            let report = try await engine.versions.undo(progress: progress)
            return (report, report.lines())
        }
    }
}
