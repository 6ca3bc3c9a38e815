import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync plan`: shows what a sync would do.
struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a sync would add, change and remove on each side, and which edits win; changes nothing.",
        discussion: """
            Run the import in a transaction that is rolled back, and print the result. While sync is off, plan shows what a sync would do \
            after enable. It also shows why a sync would be refused, for example because of a foreign key to a table that is not synced. \
            See docs/versions.md.

            EXAMPLES
              snapsync plan --db phone.db
              snapsync plan --all --json --db phone.db
              snapsync plan --out tonight.plan --db phone.db
            """)

    @OptionGroup var options: EngineArguments
    @Flag(name: .long, help: "List every row. Default: the first 10 of each dataset.")
    var all = false
    @Option(name: .long, help: ArgumentHelp("Also write the plan to this file, which must not exist.", valueName: "file"), completion: .file())
    var out: String?

    func run() async throws {
        try await options.run("plan") { engine, _ in
            let plan = try await engine.plan(limit: all ? .max : 10)
            if let out { try SyncEngine.write(plan, to: out) }
            try options.printer.print(plan, plan.lines(rest: "--all"))
        }
    }
}

/// `snapsync apply`: runs the sync that a plan describes.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Run the sync that a plan describes, unless either side has changed since.",
        discussion: """
            If the database was changed, or another version was published, after the plan was made, apply refuses and changes nothing.

            EXAMPLE
              snapsync apply tonight.plan --db phone.db
            """)

    @Argument(help: "The file that plan --out wrote.", completion: .file())
    var file: String
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done("apply") { engine, progress in
            let report = try await engine.apply(planFile: file, progress: progress)
            return (report, (report.exported?.lines ?? []) + (report.imported?.lines ?? []))
        }
    }
}

extension SyncPlan {
    /// The plan, formatted for people.
    ///
    /// - Parameter rest: the hint that says how to see the entities that are not listed.
    func lines(rest: String) -> [String] {
        let here = version.map { "version \($0)" } ?? "no version yet", there = newestVersion.map { "version \($0)" } ?? "nothing"
        var lines = ["\(database): \(role) \(device), here is \(here), the cloud has \(there)"]
        lines += refusals.map { "  would stop: \($0)" }
        if isEmpty { lines.append("  a sync would change nothing") }
        if waitingEdits > 0 { lines.append("  \(Format.count(waitingEdits, "edit")) of readers would be decided (snapsync messages lists what waits)") }
        for dataset in datasets {
            lines.append("  \(dataset.name)")
            lines.append(
                "    here: \(dataset.local.words); in the cloud: \(dataset.cloud.words)"
                    + (dataset.kept.total > 0 ? "; only here: \(dataset.kept.words)" : ""))
            if dataset.conflicts > 0 { lines.append("    changed on both sides: \(Format.count(dataset.conflicts))") }
            lines += dataset.items.map { "    \($0.side): \($0.change) \($0.key.description.debugDescription), \($0.wins) wins: \($0.reason)" }
            let more = dataset.local.total + dataset.cloud.total + dataset.kept.total - dataset.items.count
            if more > 0 { lines.append("    and \(Format.count(more)) more (\(rest))") }
        }
        return lines
    }
}

extension SyncPlan.Counts {
    fileprivate var words: String {
        total == 0 ? "nothing" : "\(Format.count(added)) added, \(Format.count(changed)) changed, \(Format.count(removed)) removed"
    }
}
