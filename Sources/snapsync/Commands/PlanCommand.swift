import ArgumentParser
import SnapshotSync

/// `snapsync plan`: what a sync would do.
struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Says what a sync would add, change and remove on each side, and who wins and why; changes nothing.",
        discussion: """
            Decided by the import's own rules, in a transaction that is rolled back. With --out the plan is written to a file, which
            apply takes as long as neither side has moved. Where you keep sync off, it says what a sync would do once that is on: a look
            before enable.

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
        try await output.printer.run {
            let plan = try await engine.plan(limit: all ? .max : 10)
            if let out { try SyncEngine.write(plan, to: out) }
            try output.printer.print(plan, plan.lines(rest: "--all"))
        }
    }
}
