import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync repair`: restores damaged files of the cloud.
struct RepairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Restore damaged or missing files of the cloud from other copies of their data.",
        discussion: """
            Restores what is damaged or missing in the cloud, if the same bytes can be had from somewhere else. Hashes decide; nothing is \
            guessed. The next commit has a commit's hash, a commit has the hashes of checkpoints and assets, and the index has a block's \
            hash. Any device that may write in the directory may run repair, also several at once. With --db the database's rows are a \
            source; nothing in the database is changed.

            Rows and versions give a block's JSON. Its bytes depend on the library that compressed it, ISA-L or zlib. repair tries \
            both.

            In a sealed zone (docs/security.md) repair --db on a member makes lost boxes again, in the epoch that they were of. repair \
            --cloud has no keys: it compares files with their hashes, and brings back those of which a whole copy lies beside them or one \
            bit was flipped; a warning says that nothing was opened.

            repair never removes or overwrites a damaged file. It first makes the whole file, reads it back and compares it. Then it \
            renames the damaged file: it appends .damaged- and 8 digits to its name, which readers ignore and doctor reports. Then it \
            gives the whole file the name. If repair is killed in between, the file is missing at worst, and the next repair continues.

            It ends with 0 if everything is repaired or nothing had to be, and with 65 if something is lost. For each lost file it names \
            the versions that need it and says what to do. If the newest version needs it, snapsync export --full on the writer publishes \
            a whole new one. A lost commit ends the history that can be read: restore the file from a copy of the directory. repair does \
            not restore cloud.json, zone.json, messages and devices' reports.

            EXAMPLES
              snapsync repair --dry-run --db phone.db
              snapsync repair --db phone.db
              snapsync repair --cloud /mnt/share/cloud --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "Only say what would be done; what can be repaired only after something else counts as lost.")
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
            if one.kind == RepairReport.forkKind {
                return
                    "\(report.dryRun ? "would give" : "gave") \(one.sources.joined(separator: ", ")), its plain name, \(one.file), for the later commits follow it"
                    + (one.setAside.map { "; the commit that \(report.dryRun ? "has the name would become" : "had the name is now") \($0)" } ?? "")
            }
            return "\(verb): \(one.file)\(blocks(one.blocks)), which was \(one.wasMissing ? "missing" : "damaged"), from \(one.sources.joined(separator: ", "))"
                + (one.setAside.map { "; the damaged file is \($0) now" } ?? "")
        }
        let lost = report.lost.map { one in
            "lost: \(one.file) of \(Format.word(one.versions.count, "version")) \(one.versions.map(String.init).joined(separator: ", ")): \(one.reason); hint: \(one.hint)"
        }
        let count = "\(Format.count(report.mended.count, "file")) \(report.dryRun ? "can be mended" : "mended")"
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
        numbers.isEmpty ? "" : " (\(Format.word(numbers.count, "block")) \(numbers.map(String.init).joined(separator: ", ")))"
    }
}
