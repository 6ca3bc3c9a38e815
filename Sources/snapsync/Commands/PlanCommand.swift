import ArgumentParser
import SnapshotSync

/// `snapsync plan`: shows what a sync would do.
struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a sync would add, change and remove on each side, and which edits win; changes nothing.",
        discussion: """
            It changes nothing: the import itself computes the plan, in a transaction that is rolled back. If the user has turned sync \
            off, it says what a sync after enable would do. It also says why a sync would be refused, for example by a foreign key of a table that is \
            not synced. docs/versions.md has examples.

            EXAMPLES
              snapsync plan --db phone.db
              snapsync plan --all --json --db phone.db
              snapsync plan --out tonight.plan --db phone.db
            """)

    @OptionGroup var database: DatabaseOptions
    @Flag(name: .long, help: "Name every entity; else the first 10 of each dataset.")
    var all = false
    @Option(name: .long, help: ArgumentHelp("Write the plan to this new file, too.", valueName: "file"), completion: .file())
    var out: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.work("plan") { _ in
            let plan = try await engine.plan(limit: all ? .max : 10)
            if let out { try SyncEngine.write(plan, to: out) }
            try output.printer.print(plan, plan.lines(rest: "--all"))
        }
    }
}
