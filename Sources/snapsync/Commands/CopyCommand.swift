import ArgumentParser
import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync copy`: copies a location to another place.
struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy a location to another folder or bucket; a later run copies what is new.",
        discussion: """
            Copy a shared folder or bucket to another place, or update an earlier copy: snapsync copy FROM TO. Every file is checked. \
            The copy has the same identity, files and bytes. Commits are copied last, so an interrupted copy ends at an earlier version. \
            Run the command again to continue it. Files at either place are never replaced or removed. Reports, messages and the \
            publishers' queue are not copied, because devices write them again.

            - To move the data, stop all syncs, run copy, and then run device move on every device.

            - For a backup, run copy from cron. Readers can read the copy. Devices must publish in one place only: a copy with versions \
            of its own is refused. So is a copy that ends before the oldest version that prune has left. Copy more often, or to an empty \
            place.

            - If a zone was signed or encrypted later, and --prune-old removed its earlier versions, an earlier copy keeps them and copy \
            reports that.

            EXAMPLES
              snapsync copy /mnt/share/cloud /mnt/backup/cloud
              snapsync copy /mnt/share/cloud s3://team-data/app
            """)

    @Argument(help: "The folder, or s3://BUCKET/PREFIX.", completion: .directory)
    var from: String
    @Argument(help: "An empty place or an earlier copy: a folder, or s3://BUCKET/PREFIX.", completion: .directory)
    var to: String
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.work("copy") { progress in
            let report = try await CloudMirror(from: from, to: to).run(progress: progress)
            try output.printer.done(report, report.lines)
        }
    }
}

extension MirrorReport {
    /// What was copied, one line per zone.
    var lines: [String] {
        ["\(to) is \(isNew ? "a new" : "the") copy of \(from), location \(cloudUUID)"]
            + zones.map { zone in
                let label = zone.zone.exact == ZoneID(ZoneID.main).description.exact ? "" : "zone \(zone.zone): "
                let newest = zone.newestVersion.map { "newest version \($0)" } ?? "no version yet"
                if let successor = zone.successor {
                    return
                        "  zone \(zone.zone) goes on as zone \(successor), and its versions were removed from \(from); the copy keeps those that it has, \(newest)"
                }
                guard zone.versions > 0 || zone.assets > 0 else { return "  \(label)nothing was missing; \(newest)" }
                return
                    "  \(label)copied \(Format.count(zone.versions, "version")) and \(Format.count(zone.assets, "asset")) of \(Format.bytes(zone.bytes)); \(newest)"
            }
    }
}
