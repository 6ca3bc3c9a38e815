import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync repair`: restores damaged files of the cloud.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Restore damaged or missing files of the cloud from other copies of their data.",
        discussion: """
            Restore damaged or missing files if the same bytes exist elsewhere: in other files, in other versions, or in the rows of --db. \
            The hashes in commits decide. repair works on folders, not on buckets. Several devices can run it at once. It does not change \
            the database.

            repair never removes or overwrites a damaged file. It writes and compares the new file, renames the damaged one to ….damaged- \
            and 8 digits, and then gives the new file its name. If repair is killed, run it again.

            If files are lost, repair fails, and lists the versions that need them and what to do. If the newest version is affected, run \
            snapsync export --full on the writer. If a commit is lost, restore it from a copy of the folder. cloud.json, zone.json, \
            messages and reports are not repaired.

            In a sealed zone, run repair --db on a member. Without keys, --cloud restores a file only from a whole copy. See \
            docs/checks.md.

            EXAMPLES
              snapsync repair --dry-run --db phone.db
              snapsync repair --db phone.db
              snapsync repair --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Show what would be repaired. Repairs that depend on an earlier one are listed as lost.")
    var dryRun = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.work("repair") { _ in
            let report: RepairReport
            if let cloud = look.cloudAlone {
                report = try await SnapshotInspector.repair(cloud: cloud, zone: look.zone, dryRun: dryRun)
            } else {
                report = try await look.database.engine().repair(dryRun: dryRun)
            }
            try output.printer.done(report, isIrreplaceable: dryRun, lines(report))
            if !report.lost.isEmpty { throw ExitCode(SyncError.Code.dataRefused.exitStatus) }
        }
    }

    private func lines(_ report: RepairReport) -> [String] {
        let verb = report.dryRun ? "would mend" : "mended"
        let mended = report.mended.map { one in
            "\(verb): \(one.file)\(blocks(one.blocks)), which was \(one.wasMissing ? "missing" : "damaged"), from \(one.sources.joined(separator: ", "))"
                + (one.setAside.map { "; the damaged file is \($0) now" } ?? "")
        }
        let lost = report.lost.map { one in
            "lost: \(one.file) of \(Format.word(one.versions.count, "version")) \(one.versions.map(String.init).joined(separator: ", ")): \(one.reason); hint: \(one.hint)"
        }
        let count = "\(Format.count(report.mended.count, "file")) \(report.dryRun ? "can be mended" : "mended")"
        let end =
            report.mended.isEmpty && report.lost.isEmpty
            ? "nothing to mend: every file is as its commit says" : count + (report.lost.isEmpty ? "" : ", \(report.lost.count) lost")
        return mended + lost + report.warnings.map { "warning: \($0)" } + [end]
    }

    private func blocks(_ numbers: [Int]) -> String {
        numbers.isEmpty ? "" : " (\(Format.word(numbers.count, "block")) \(numbers.map(String.init).joined(separator: ", ")))"
    }
}
