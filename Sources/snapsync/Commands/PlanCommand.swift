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
            try output.printer.print(plan, lines(plan))
        }
    }

    private func lines(_ plan: SyncPlan) -> [String] {
        let here = plan.version.map { "version \($0)" } ?? "no version yet", there = plan.newestVersion.map { "version \($0)" } ?? "nothing"
        var lines = ["\(plan.database): \(plan.role) \(plan.device), here is \(here), the cloud has \(there)"]
        lines += plan.refusals.map { "  would stop: \($0)" }
        if plan.isEmpty { lines.append("  a sync would change nothing") }
        for dataset in plan.datasets {
            lines.append("  \(dataset.name)")
            lines.append(
                "    here: \(words(dataset.local)); in the cloud: \(words(dataset.cloud))"
                    + (dataset.kept.total > 0 ? "; only here: \(words(dataset.kept))" : ""))
            if dataset.conflicts > 0 { lines.append("    changed on both sides: \(Format.count(dataset.conflicts))") }
            lines += dataset.items.map { "    \($0.side): \($0.change) \($0.key.description.debugDescription), \($0.wins) wins: \($0.reason)" }
            let more = dataset.local.total + dataset.cloud.total + dataset.kept.total - dataset.items.count
            if more > 0 { lines.append("    and \(Format.count(more)) more (--all)") }
        }
        return lines
    }

    private func words(_ counts: SyncPlan.Counts) -> String {
        counts.total == 0 ? "nothing" : "\(Format.count(counts.added)) added, \(Format.count(counts.changed)) changed, \(Format.count(counts.removed)) removed"
    }
}
