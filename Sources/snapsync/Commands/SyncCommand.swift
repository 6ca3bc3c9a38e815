import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync sync`: does the work of the role.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Publish local changes and import remote ones, according to the device's role.",
        discussion: """
            A writer applies the edits of readers and publishes. A reader imports and sends its edits to the publisher (docs/readers.md). \
            A peer imports, merges, applies the edits of readers and publishes. Audiences that are filled from the database are synced first. If another peer publishes first, it tries again. After 100 \
            lost races the sync fails, and you can run it again. Run sync from cron or systemd: service prints the configuration.

            With -n, print what a sync would add, change and remove on each side, which edits win, and why it would be refused. The import \
            runs in a transaction that is rolled back. While sync is off, -n shows what a sync would do after you turn it on. --plan runs \
            the sync of a plan that --out wrote, unless either side has changed since.

            EXAMPLES
              snapsync sync phone.db
              snapsync sync phone.db -n
              snapsync sync phone.db -n --out tonight.plan
              snapsync sync phone.db --plan tonight.plan
              snapsync sync phone.db --allow-shrink notifications
              snapsync sync phone.db --heartbeat https://monitor.example/ping/phone
              snapsync sync phone.db --on-failure 'echo "$SNAPSYNC_ERROR" | mail me'
              */15 * * * * snapsync sync -q /var/lib/app/phone.db
            """)

    @OptionGroup var options: EngineArguments
    @OptionGroup var quietness: QuietOption
    @OptionGroup var trial: DryRunOption
    @Flag(name: .long, help: "With -n: list every row. Default: the first 10 of each dataset.")
    var all = false
    @Option(name: .long, help: ArgumentHelp("With -n: also write the plan to this file, which must not exist.", valueName: "file"), completion: .file())
    var out: String?
    @Option(name: .long, help: ArgumentHelp("Run the sync of this plan, unless either side has changed since.", valueName: "file"), completion: .file())
    var plan: String?
    @OptionGroup var shrinking: ShrinkOptions
    @OptionGroup var outcome: OutcomeOptions
    @OptionGroup var importing: ImportCommandOptions

    private var quiet: Bool { quietness.quiet }

    func validate() throws {
        guard trial.dryRun || !all && out == nil else { throw ValidationError("--all and --out require -n.") }
        guard plan == nil || !trial.dryRun && shrinking.allowShrink.isEmpty else {
            throw ValidationError("--plan cannot be combined with -n or --allow-shrink.")
        }
        guard !trial.dryRun || !quiet else { throw ValidationError("Choose one of -n and -q.") }
    }

    func run() async throws {
        if trial.dryRun { return try await showPlan() }
        let path = try options.database.file.path()
        var printer = options.printer, report: SyncReport?
        printer.isQuiet = quiet
        printer.failed = { outcome.failed($0, database: path) }
        try await options.run("sync", printer: printer) { engine, progress in
            // The user who turned sync off knows it, so a quiet run, for example under cron, does not report it every time.
            let reason = quiet ? try await engine.gate.decision().reason?.code : nil
            let isOff = reason == .preferenceOff || reason == .preferenceUndecided
            do {
                if let plan {
                    report = try await engine.apply(planFile: plan, progress: progress)
                } else {
                    report = try await engine.sync(allowing: shrinking.approval, progress: progress)
                }
            } catch  where isOff {
                return
            }
            guard let report else { return }
            guard quiet else {
                return try printer.done(
                    report,
                    report.audienceLines + (report.imported?.lines ?? []) + (report.exported?.lines ?? []) + (report.messages?.lines ?? []) + report.keptLines)
            }
            // A quiet run still prints warnings. Otherwise nobody would notice what every run leaves undone.
            try report.printNotices()
        }
        guard let report else { return }
        outcome.succeeded()
        await importing.imported(report.imported, database: path, location: options.database.location.path)
    }

    private func showPlan() async throws {
        try await options.run("sync") { engine, _ in
            let plan = try await engine.plan(limit: all ? .max : 10)
            if let out { try SyncEngine.write(plan, to: out) }
            try options.printer.print(plan, plan.lines(rest: "--all"))
        }
    }
}

extension SyncPlan {
    /// The plan, formatted for people.
    ///
    /// - Parameter rest: the hint that says how to see the entities that are not listed.
    func lines(rest: String) -> [String] {
        let first = audiences.flatMap { plan in HintCommands.naming(plan.database) { plan.lines(rest: rest) } }
        let here = version.map { "version \($0)" } ?? "no version yet", there = newestVersion.map { "version \($0)" } ?? "nothing"
        var lines = first + ["\(database): \(role) \(device), here is \(here), the location has \(there)"]
        lines += refusals.map { "  would stop: \($0)" }
        if isEmpty { lines.append("  a sync would change nothing") }
        if waitingEdits > 0 {
            lines.append(
                "  \(Format.count(waitingEdits, "edit")) of readers would be decided \(HintCommands().complete("(snapsync pending lists what waits)"))")
        }
        lines += refreshes.map { "  \($0.table) is filled first: \($0.changes.words)" }
        for dataset in datasets {
            lines.append("  \(dataset.name)")
            lines.append(
                "    here: \(dataset.local.words); in the location: \(dataset.cloud.words)"
                    + (dataset.kept.total > 0 ? "; only here: \(dataset.kept.words)" : ""))
            if dataset.conflicts > 0 { lines.append("    changed on both sides: \(Format.count(dataset.conflicts))") }
            let sides: [ExactText: String] = ["cloud": "in the location", "kept": "only here"]
            lines += dataset.items.map { "    \(sides[$0.side.exact] ?? "here"): \($0.change) \($0.key.description.debugDescription): \($0.reason)" }
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
