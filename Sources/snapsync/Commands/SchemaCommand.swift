import ArgumentParser
import SnapshotSync

/// `snapsync schema`: prints the SQL text that a zone keeps of its tables.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the SQL of a zone's tables, indexes, views and triggers.",
        discussion: """
            Prints the SQL text of the tables, indexes, views and triggers as the device has them that publishes, in an order in which \
            sqlite3 can run it. Statements that need more than the zone has, such as a table that is not synced or a function of the \
            application, are comments that say what. Read the text before you run it: whoever publishes in the zone has written it. A text \
            that is more than statements which make these objects is refused (65). init --create --with-schema runs it.

            EXAMPLES
              snapsync schema --db app.db
              snapsync schema --cloud /mnt/share/cloud | sqlite3 copy.db
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report = try await look.inspector().schema()
            guard !output.json, !StandardStream.output.isTerminal else {
                return try output.printer.print(report, report.script.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) })
            }
            // A file or pipe gets the unchanged bytes.
            try StandardStream.output.write(report.script)
        }
    }
}
