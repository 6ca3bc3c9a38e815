import ArgumentParser
import SnapshotSync

/// `snapsync repair`: brings back damaged files of the cloud.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Brings back what is damaged or missing in the cloud, where its bytes are anywhere else.",
        discussion: """
            Blocks come from other assets, from the database's rows, or from the version before; block indexes from their assets;
            checkpoints from the commits; commits from copies. Where two devices' commits stand mixed under the plain names, those that
            the newest one follows get the names. Hashes decide, nothing is guessed. A damaged file is not removed:
            it gets a name that readers ignore, and the whole one takes its place. Any device that may write may run this.

            EXAMPLES
              snapsync repair --dry-run --db phone.db
              snapsync repair --db phone.db
              snapsync repair --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Only say what would be done.")
    var dryRun = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report: RepairReport
            if let cloud = look.cloudAlone {
                report = try await SnapshotInspector.repair(cloud: cloud, zone: look.zone, dryRun: dryRun)
            } else {
                report = try await look.database.engine().repair(dryRun: dryRun)
            }
            try output.printer.print(report, lines(report))
            if !report.lost.isEmpty { throw ExitCode(SyncError.Code.dataRefused.exitStatus) }
        }
    }

    private func lines(_ report: RepairReport) -> [String] {
        let verb = report.dryRun ? "would mend" : "mended"
        let mended = report.mended.map { one in
            if one.kind == RepairReport.forkKind {
                return
                    "\(report.dryRun ? "would give" : "gave") \(one.sources.joined(separator: ", ")), its plain name, \(one.file), for the later commits follow it"
                    + (one.setAside.map { "; the commit that \(report.dryRun ? "has the name would become" : "had the name is now") \($0)" } ?? "")
            }
            return "\(verb): \(one.file)\(blocks(one.blocks)), which was \(one.wasMissing ? "missing" : "damaged"), from \(one.sources.joined(separator: ", "))"
                + (one.setAside.map { "; the damaged file is \($0) now" } ?? "")
        }
        let lost = report.lost.map { one in
            "lost: \(one.file) of version\(one.versions.count == 1 ? "" : "s") \(one.versions.map(String.init).joined(separator: ", ")): \(one.reason); hint: \(one.hint)"
        }
        let count = "\(report.mended.count) file\(report.mended.count == 1 ? "" : "s") \(report.dryRun ? "can be mended" : "mended")"
        let forked = report.mended.contains { $0.kind == RepairReport.forkKind } && !report.dryRun
        let end =
            report.mended.isEmpty && report.lost.isEmpty
            ? "nothing to mend: every file is as its commit says" : count + (report.lost.isEmpty ? "" : ", \(report.lost.count) lost")
        return mended + lost + report.warnings.map { "warning: \($0)" } + [end]
            + (forked
                ? ["  let the sync tool bring this everywhere, then run snapsync sync on every device: each publishes again what only its own commits had"]
                : [])
    }

    private func blocks(_ numbers: [Int]) -> String {
        numbers.isEmpty ? "" : " (block\(numbers.count == 1 ? "" : "s") \(numbers.map(String.init).joined(separator: ", ")))"
    }
}
