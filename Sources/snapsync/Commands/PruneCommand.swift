import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync prune`: removes old versions.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove old versions, and files that killed runs left in the cloud.",
        discussion: """
            The newest version and pinned versions are always kept, and so are versions less than a day old. An asset is removed a day \
            after the last version that needs it, and an answered message a day after this device recorded the answer. Only publishers can \
            prune. If no version can be removed, prune prints the reason.

            With init --keep, init --keep-last or prune --automatic, a publisher prunes after publishing, at most once a day. If that \
            fails, the version is still published, and a warning gives the reason.

            If a pinned version cannot be read, prune warns, and keeps the files that it may need until you unpin it. See \
            docs/versions.md.

            EXAMPLES
              snapsync prune --keep-last 10 --keep-within 7d --dry-run --db phone.db
              snapsync prune --keep-last 10 --keep-within 7d --db phone.db
              snapsync prune --keep-within 30d --automatic --db phone.db
              snapsync prune --manual --db phone.db
              snapsync prune --local --keep-last 1 --db watch.db
            """)

    @OptionGroup var options: EngineArguments
    @Option(name: .long, help: ArgumentHelp("Keep the last N states of the data. With --local, 0 removes all copies.", valueName: "n"))
    var keepLast: Int?
    @Option(name: .long, help: ArgumentHelp("Keep versions that are not older than this: 12h, 7d, 4w.", valueName: "age"))
    var keepWithin: TimeSpan?
    @Flag(name: .long, help: "Show what would be removed, and remove nothing.")
    var dryRun = false
    @Flag(
        name: .long,
        help: """
            With --dry-run: list every file. Default: the number of files in each folder. JSON output always lists every file.
            """)
    var all = false
    @Flag(
        name: .long,
        help: """
            Store this rule, and prune after publishing, at most once a day. Default: the rule of init --keep, if any.
            """)
    var automatic = false
    @Flag(name: .long, help: "Turn automatic pruning off. Nothing is removed unless you also pass --keep-last or --keep-within.")
    var manual = false
    @Flag(name: .long, help: "Instead, remove old copies of this database's data that replace, restore and undo saved beside it.")
    var local = false

    func validate() throws {
        guard !automatic || !manual else { throw ValidationError("Choose one of --automatic and --manual.") }
        guard !(automatic || manual) || !(local || dryRun) else {
            throw ValidationError("--automatic and --manual cannot be combined with --local or --dry-run.")
        }
        guard !automatic || (keepWithin.map { $0.duration >= .seconds(1) } ?? true) else {
            throw ValidationError("With --automatic, --keep-within must be at least 1s.")
        }
        guard keepLast != nil || keepWithin != nil || manual else { throw ValidationError("Pass --keep-last N, --keep-within AGE, or both.") }
        guard keepLast.map({ $0 >= (local ? 0 : 1) }) ?? true else { throw ValidationError("--keep-last must be at least 1, or 0 with --local.") }
    }

    func run() async throws {
        try await options.run("prune") { engine, _ in
            let policy = RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin?.duration)
            if automatic || manual { try await engine.setRetention(automatic ? policy : nil) }
            guard keepLast != nil || keepWithin != nil else {
                return try options.printer.done(ManualReport(), ["no version is removed unasked from now on"])
            }
            let report = local ? try await engine.pruneCopies(policy, dryRun: dryRun) : try await engine.prune(policy, dryRun: dryRun)
            try options.printer.done(report, isIrreplaceable: dryRun, lines(report))
        }
    }

    /// The output of `--manual` alone with `--json`.
    private struct ManualReport: Encodable {
        let isAutomatic = false
    }

    /// The number of files in each folder.
    private func folders(_ files: [String]) -> [String] {
        let counts = Dictionary(grouping: files) { $0.exact.split(separator: "/").dropLast().joined(separator: "/") }.mapValues(\.count)
        return counts.sorted { $0.key < $1.key }.map { "  \($0.key): \(Format.count($0.value, "file"))" } + (counts.isEmpty ? [] : ["  (--all names them)"])
    }

    private func lines(_ report: PruneReport) -> [String] {
        let (one, many) = local ? ("copy", "copies") : ("version", "versions")
        let verb = report.dryRun ? "would remove" : "removed"
        var lines: [String] = []
        if !report.removedVersions.isEmpty || !report.removedFiles.isEmpty {
            let numbers = report.removedVersions
            let range = numbers.isEmpty ? "no \(one)" : numbers.count == 1 ? "\(one) \(numbers[0])" : "\(many) \(numbers[0]) to \(numbers[numbers.count - 1])"
            lines.append(
                "\(verb) \(range), \(Format.count(report.removedFiles.count, "file")), \(Format.bytes(report.bytesFreed))"
            )
        }
        if report.dryRun { lines += all ? report.removedFiles.map { "  \($0)" } : folders(report.removedFiles) }
        if lines.isEmpty { lines.append("nothing to remove") }
        if let reason = report.reason { lines.append("  no version goes: \(reason)") }
        if automatic { lines.append("  the same is done after a publish from now on, at most once a day") }
        if let published = report.publishedVersion { lines.append("  published version \(published), which changes no data, so that older ones can go") }
        if let oldest = report.oldestKept {
            let pins = report.pinnedVersions.isEmpty ? "" : ", and the pinned \(report.pinnedVersions.map(String.init).joined(separator: ", "))"
            lines.append("  kept from \(one) \(oldest) on\(pins)")
        }
        if report.waitingFiles > 0 {
            lines.append(
                "  \(Format.count(report.waitingFiles, "file")), \(Format.bytes(report.waitingBytes)), can go when the grace period of a day is over"
            )
        }
        lines += report.problems.map { "  warning: \($0)" }
        return lines
    }
}
