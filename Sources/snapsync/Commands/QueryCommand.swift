import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync query`: runs a statement of SQL on a version.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run a SELECT on a version in the shared folder or bucket, without importing it.",
        discussion: """
            Each table of the version is a table of the statement. A condition on the first columns of a table's key reads only the blocks of \
            those keys, count(*) alone none, and anything else one block after another. A statement that does more than read is refused. If a \
            block is damaged, the output ends before it, and the command fails with status 65.

            If you pass a database, its location is read with the keys of its device, which an encrypted zone needs.

            EXAMPLES
              snapsync query /mnt/share/cloud 'SELECT count(*) FROM notes'
              snapsync query s3://backup/shop 'SELECT * FROM products' --json
              snapsync query phone.db 'SELECT * FROM notes' --at 12 --csv > notes.csv
            """)

    @OptionGroup var place: LookOptions
    @Argument(help: "One statement of SQL.")
    var sql: String
    @OptionGroup var version: VersionOption
    @OptionGroup var form: RowOptions

    func run() async throws {
        try await version.read(place, as: form) { try await $0.query(sql, columns: $1.begin, row: $1.print) }
    }
}

/// `snapsync get`: prints the row with a key.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the row with a key, as a version in the shared folder or bucket has it.",
        discussion: """
            Give a value for each column of the table's key, in its order, and a blob as x'0a1b'. Only the block with that key is read. If the \
            version has no such row, the command fails with status 66.

            EXAMPLES
              snapsync get /mnt/share/cloud notes 17
              snapsync get phone.db order_lines 17 3 --at 12 --json
            """)

    @OptionGroup var place: LookOptions
    @Argument(help: "The table.")
    var table: String
    @Argument(help: "The values of the key's columns.")
    var key: [String]
    @OptionGroup var version: VersionOption
    @OptionGroup var form: RowOptions

    func run() async throws {
        try await version.read(place, as: form) { try await $0.get(key, of: table, columns: $1.begin, row: $1.print) }
    }
}

/// The option for a version by number or time.
struct VersionOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The version by its number, or the newest at a time (RFC 3339). Default: the newest.", valueName: "version|time"))
    var at: Moment?

    struct Moment: ExpressibleByArgument {
        let target: RestoreTarget

        init?(argument: String) {
            if let number = Int(argument), number >= 1 {
                target = .version(number)
            } else if let instant = try? Instant(parsing: argument) {
                // The instant itself counts.
                target = .before(instant.advanced(byMicroseconds: 1))
            } else {
                return nil
            }
        }
    }

    /// Opens the version as tables, and prints the rows that `body` passes to the printer.
    func read(_ place: LookOptions, as form: RowOptions, _ body: (VersionDatabase, RowPrinter) async throws -> Void) async throws {
        try await form.run { rows in
            let version = try await place.inspector().database(at: at?.target)
            rows.version = version.number
            try await body(version, rows)
        }
    }
}
