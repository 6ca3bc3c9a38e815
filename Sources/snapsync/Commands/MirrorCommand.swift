import ArgumentParser
import SnapshotSync

/// `snapsync mirror`: a cloud at a second place.
struct MirrorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Copies a cloud to another directory or bucket, or what the copy there lacks.",
        discussion: """
            The copy has the same files, names and bytes. Commits come last, so an interrupted copy ends at an earlier version, and the
            same command goes on. To move a cloud: stop the devices' syncs, mirror it, run relocate on every device. As a second copy:
            run it from cron. Devices must publish in one place only; a copy in which one has published is refused (78).

            EXAMPLES
              snapsync mirror /mnt/share/cloud /mnt/backup/cloud
              snapsync mirror /mnt/share/cloud s3://team-data/app
            """)

    @Argument(help: "The cloud: a directory, or s3://BUCKET/PREFIX.", completion: .directory)
    var from: String
    @Argument(help: "An empty place, or an earlier copy: a directory, or s3://BUCKET/PREFIX.", completion: .directory)
    var to: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report = try await CloudMirror(from: from, to: to).run()
            try output.printer.print(report, report.lines)
        }
    }
}

extension MirrorReport {
    /// What was copied, a zone each.
    var lines: [String] {
        ["\(to) is \(isNew ? "a new" : "the") copy of \(from), cloud \(cloudUUID)"]
            + zones.map { zone in
                let newest = zone.newestVersion.map { "newest version \($0)" } ?? "no version yet"
                guard zone.versions > 0 || zone.assets > 0 else { return "  zone \(zone.zone): nothing was missing; \(newest)" }
                return
                    "  zone \(zone.zone): copied \(Format.count(zone.versions, "version")) and \(Format.count(zone.assets, "asset")) of \(Format.bytes(zone.bytes)); \(newest)"
            }
    }
}
