import ArgumentParser
import SnapshotSync

/// `snapsync schema`: prints the SQL text that a zone keeps of its tables.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the SQL of a zone's tables, indexes, views and triggers.",
        discussion: """
            Print the SQL of the tables, indexes, views and triggers of the publisher, in an order that sqlite3 can run. Statements that \
            need tables or functions that the zone lacks are printed as comments with the reason. Read the SQL before you run it: anyone \
            who can publish in the zone can change it. A text with other statements is refused. init --create --with-schema runs it.

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
