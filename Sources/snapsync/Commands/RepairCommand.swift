import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync repair`: restores damaged files of the cloud.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Restore damaged or missing files of the location from other copies of their data.",
        discussion: """
            Restore damaged or missing files if the same bytes exist elsewhere: in other files, in other versions, or in the rows of the database. \
            The hashes in commits decide. repair works on folders, not on buckets. Several devices can run it at once. It does not change \
            the database.

            repair never removes or overwrites a damaged file. It writes and compares the new file, renames the damaged one to ….damaged- \
            and 8 digits, and then gives the new file its name. If repair is killed, run it again.

            If files are lost, repair fails, and lists the versions that need them and what to do. If the newest version is affected, run \
            snapsync export --full on the writer. If a commit is lost, restore it from a copy of the folder. cloud.json, zone.json, \
            messages and reports are not repaired.

            In an encrypted zone, run repair with the database of a member. Without keys, a file is restored only from a whole copy. \
            See docs/checks.md.

            With --request-full, a reader instead asks the publisher to write every dataset whole at its next sync, as export --full does.

            EXAMPLES
              snapsync repair phone.db -n
              snapsync repair phone.db
              snapsync repair /mnt/share/app --json
              snapsync repair watch.db --request-full
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup var trial: DryRunOption
    @Flag(name: .long, help: "On a reader: ask the publisher for a whole new version, and repair no file.")
    var requestFull = false
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard !requestFull || look.database != nil && !trial.dryRun else {
            throw ValidationError("--request-full requires a database, and cannot be combined with -n.")
        }
    }

    func run() async throws {
        try await output.printer.work("repair") { _ in
            if requestFull {
                let report = try await look.engine().requestFullSync()
                let warnings = report.warnings.map { "  warning: \($0)" }
                return try output.printer.done(report, ["the publisher will write every dataset whole at its next sync"] + warnings)
            }
            let report: RepairReport
            if let alone = try await look.locationAlone() {
                report = try await SnapshotInspector.repair(cloud: alone.location, zone: alone.zone, dryRun: trial.dryRun)
            } else {
                report = try await look.engine().repair(dryRun: trial.dryRun)
            }
            try output.printer.done(report, isIrreplaceable: trial.dryRun, lines(report))
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
