import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync conflicts`: lists and handles edits that lost conflicts.
struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List edits that lost and rows that are held, and restore them.",
        discussion: """
            If two devices change one column of a row, the later change wins on all devices. The lost edit is kept in the database for 90 \
            days, up to 16 MiB. sync, import, watch and status report new ones. A new row that does not fit, for example because of a \
            UNIQUE value, is held outside of the table until it fits, or you edit or drop it. See docs/merging.md.

            EXAMPLES
              snapsync conflicts phone.db
              snapsync conflicts show phone.db 3
              snapsync conflicts take phone.db 3
              snapsync conflicts clear phone.db
              snapsync conflicts edit shop.db customers 9 email=ann@example.org
              snapsync conflicts drop shop.db customers 9
            """,
        subcommands: [
            ConflictsListCommand.self, ConflictsShowCommand.self, ConflictsTakeCommand.self, ConflictsClearCommand.self, ConflictsEditCommand.self,
            ConflictsDropCommand.self,
        ],
        defaultSubcommand: ConflictsListCommand.self)

    /// What becomes of an edit, as a clause.
    fileprivate static func next(_ stays: String?) -> String { stays.map { "it stays on this device: \($0)" } ?? "the next sync sends it on" }
}

/// The argument that names an entry of the conflict journal.
struct ConflictNumber: ParsableArguments {
    @Argument(help: "The number, as conflicts prints it.")
    var id: Int64
}

/// `snapsync conflicts list`: lists the edits that lost.
struct ConflictsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List edits that lost and rows that are held.",
        discussion: """
            List the edits that lost to edits of other devices, oldest first, with their columns, and the held rows with the reasons. \
            snapsync conflicts does the same.

            EXAMPLES
              snapsync conflicts phone.db
              snapsync conflicts list phone.db --all --json | jq '.conflicts[].lost'
            """)

    @OptionGroup var options: EngineArguments
    @Flag(name: .long, help: "Also list edits that were restored or cleared. JSON output always includes them, with their state.")
    var all = false

    func run() async throws {
        try await options.run { engine, _ in
            let report = try engine.conflicts.list(all: all || options.output.json)
            try options.printer.print(report, report.lines)
        }
    }
}

extension ConflictsReport {
    /// The entries, and how many were removed from the journal.
    var lines: [String] {
        let count = "\(Format.count(open, "edit")) lost to other edits"
        return [conflicts.isEmpty ? "no edit has lost to another one" : count] + conflicts.flatMap(\.lines)
            + (held.isEmpty
                ? [] : ["\(Format.count(held.count, "row is", or: "rows are")) held, in no table, until \(Format.word(held.count, "it fits", or: "they fit"))"])
            + held.map { row in
                let fits = "it fits here; the next sync shows it, if it fits where it is published"
                let why = row.obstacles.isEmpty ? fits : row.obstacles.joined(separator: "; ")
                return "  \(row.dataset) \(row.key): \(why)"
            }
            + (removed > 0
                ? ["  \(Format.count(removed, "older entry was", or: "older entries were")) removed: the journal keeps 90 days and 16 MiB"] : [])
    }
}

extension ConflictsReport.Entry {
    /// The entity, both sides, and the columns.
    var lines: [String] {
        let why = detail.map { "\(reason): \($0)" } ?? reason
        return ["  \(id)  \(dataset) \(key) (\(why))" + (state == "open" ? "" : ", \(state)"), "     lost: \(lost.sentence)", "     kept: \(kept.sentence)"]
            + columns.map { "     \($0.name): " + [$0.lost.map { "\($0) lost" }, $0.kept.map { "\($0) was kept" }].compactMap(\.self).joined(separator: ", ") }
    }
}

extension ConflictsReport.Side {
    /// What this side did, on which device, and when.
    fileprivate var sentence: String {
        "\(isDeletion ? "a deletion" : "an edit")" + (device.map { " of \($0)" } ?? "") + (at.map { ", \($0)" } ?? "")
    }
}

/// `snapsync conflicts show`: shows both sides of one conflict in full.
struct ConflictsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an edit that lost, beside the row that was kept.",
        discussion: """
            Show all columns of one entry: both values of the columns that lost, and the current values of the others.

            EXAMPLES
              snapsync conflicts show phone.db 3
              snapsync conflicts show phone.db 3 --json | jq '.lost.entity | fromjson'
            """)

    @OptionGroup var options: EngineArguments
    @OptionGroup var number: ConflictNumber

    func run() async throws {
        try await options.run { engine, _ in
            let entry = try engine.conflicts.entry(number.id)
            try options.printer.print(entry, entry.lines)
        }
    }
}

/// `snapsync conflicts take`: restores an edit that lost.
struct ConflictsTakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Restore an edit that lost, as a new edit made now.",
        discussion: """
            Restore a lost edit as a new edit, which wins over the one that was kept. The next sync publishes or sends it. In an existing \
            row, only the columns that lost change, and the timestamp column gets the current time. If the edit is a deletion, the row is \
            deleted again. The entry is then marked as taken.

            If two devices used one integer key for different rows (sameKey), the restored row gets a new INTEGER PRIMARY KEY. Rows that \
            refer to it keep the old key. Change them yourself.

            The command refuses, and changes nothing, if the entry was taken already, if another row has a UNIQUE value of the edit, if \
            the edit refers to a missing row, or if rows refer to the row that it would delete.

            EXAMPLES
              snapsync conflicts take phone.db 3
              snapsync conflicts take phone.db 3 --as-new
            """)

    @OptionGroup var options: EngineArguments
    @OptionGroup var number: ConflictNumber
    @Flag(name: .long, help: "Insert the row under a new integer key, even if its old key is free.")
    var asNew = false
    @Flag(name: .long, help: "Replace the row that has the key, even if two devices inserted different rows.")
    var inPlace = false

    func validate() throws {
        guard !asNew || !inPlace else { throw ValidationError("Choose one of --as-new and --in-place.") }
    }

    func run() async throws {
        try await options.done { engine, _ in
            let report = try engine.conflicts.take(number.id, to: asNew ? .newKey : inPlace ? .sameKey : .usual)
            let what =
                report.isDeletion
                ? "deleted \(report.dataset) \(report.key) again"
                : "\(report.dataset) \(report.key) is the edit that had lost" + (report.hasNewKey ? ", under a new key" : "")
            return (report, ["\(what); \(ConflictsCommand.next(report.stays))"])
        }
    }
}

/// `snapsync conflicts clear`: closes entries of the conflict journal.
struct ConflictsClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Dismiss one conflict, or all of them.",
        discussion: """
            Clear the entry with this number, or all open entries. The rows do not change, and status no longer counts the entries.

            EXAMPLES
              snapsync conflicts clear phone.db
              snapsync conflicts clear phone.db 3
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The number, as conflicts prints it. Default: all open entries.")
    var id: Int64?

    func run() async throws {
        try await options.done { engine, _ in
            let report = try engine.conflicts.clear(id)
            return (report, ["cleared \(Format.count(report.cleared, "conflict"))"])
        }
    }
}

/// `snapsync conflicts edit`: changes a held row.
struct ConflictsEditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a held row so that it fits into its table.",
        discussion: """
            Set columns of a held row and insert it into its table as a new edit. The next sync publishes or sends it. For a column of \
            numbers, pass a number. For NULL, pass null. If the row still does not fit, nothing changes.

            EXAMPLES
              snapsync conflicts edit shop.db customers 9 email=ann@example.org
            """)

    @OptionGroup var options: EngineArguments
    @OptionGroup var row: HeldRowName
    @Argument(help: "The new values: COLUMN=VALUE.")
    var columns: [String]

    func validate() throws { _ = try values }

    private var values: [ExactText: String] {
        get throws {
            var values: [ExactText: String] = [:]
            for column in columns {
                let parts = column.exact.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { throw ValidationError("\(column) is not COLUMN=VALUE.") }
                values[parts[0].exact] = parts[1]
            }
            return values
        }
    }

    func run() async throws {
        try await options.done { engine, _ in
            let report = try engine.conflicts.editHeldRow(row.key, in: row.dataset, setting: values)
            return (report, ["\(report.dataset) \(report.key) is in its table; \(ConflictsCommand.next(report.stays))"])
        }
    }
}

/// `snapsync conflicts drop`: deletes a held row.
struct ConflictsDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Delete a held row.",
        discussion: """
            Delete a held row on every device, as a new edit. The next sync publishes or sends it.

            EXAMPLES
              snapsync conflicts drop shop.db customers 9
            """)

    @OptionGroup var options: EngineArguments
    @OptionGroup var row: HeldRowName

    func run() async throws {
        try await options.done { engine, _ in
            let report = try engine.conflicts.editHeldRow(row.key, in: row.dataset, setting: nil)
            return (report, ["deleted \(report.dataset) \(report.key), which was held; \(ConflictsCommand.next(report.stays))"])
        }
    }
}

struct HeldRowName: ParsableArguments {
    @Argument(help: "The dataset.")
    var dataset: String
    @Argument(help: "The key, as conflicts prints it: an array in single quotes, and after -- if it begins with -.")
    var key: String
}
