import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync mirror`: copies a cloud to another place.
struct MirrorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Copy a cloud to another folder or bucket; a later run copies what is new.",
        discussion: """
            Copies a cloud to another place, or what an earlier copy there lacks: snapsync mirror FROM TO. Each is a directory, or a \
            bucket as s3://BUCKET/PREFIX with its options (docs/object-store.md). The copy has the UUID, the files, the names and the \
            bytes of the cloud. Each asset's hash is checked before it gets its name (65). Assets come first and commits last, in their \
            order, so that an interrupted copy is a cloud that ends at an earlier version; the same command goes on. Nothing is removed or \
            replaced at either place. Reports, messages and the queue of publishers are not copied: the devices write them again.

            - To move a cloud, stop the syncs, copy it, and run relocate on every device.

            - For a second copy, run it from cron. Readers may read there. Devices must publish in one place only: where a device has \
            published in the copy, it is refused (78). So is a copy that ends before the oldest version that prune has left (78): copy \
            more often, or into an empty place.

            - An earlier copy keeps the versions of a zone that was signed or sealed since and has lost them by --prune-old; it says so.

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
        try await output.printer.work("mirror") { progress in
            let report = try await CloudMirror(from: from, to: to).run(progress: progress)
            try output.printer.done(report, report.lines)
        }
    }
}

extension MirrorReport {
    /// What was copied, one line per zone.
    var lines: [String] {
        ["\(to) is \(isNew ? "a new" : "the") copy of \(from), cloud \(cloudUUID)"]
            + zones.map { zone in
                let newest = zone.newestVersion.map { "newest version \($0)" } ?? "no version yet"
                if let successor = zone.successor {
                    return
                        "  zone \(zone.zone) goes on as zone \(successor), and its versions were removed from \(from); the copy keeps those that it has, \(newest)"
                }
                guard zone.versions > 0 || zone.assets > 0 else { return "  zone \(zone.zone): nothing was missing; \(newest)" }
                return
                    "  zone \(zone.zone): copied \(Format.count(zone.versions, "version")) and \(Format.count(zone.assets, "asset")) of \(Format.bytes(zone.bytes)); \(newest)"
            }
    }
}

/// `snapsync relocate`: stores a new path of the cloud directory.
struct RelocateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relocate",
        abstract: "Store another path of the shared folder, after it was moved or mounted elsewhere.",
        discussion: """
            For one run alone, --cloud of that run is enough. The directory must hold the same cloud (78), and the zone must have the \
            version that this database has applied; an older copy of the zone is refused (65), a replicated folder at a peer, too (78), \
            and a bucket at a peer whose store does not keep what several publishers need (docs/object-store.md) (78). Nothing is imported \
            or published. init --take-over --cloud DIR stores the path as well.

            EXAMPLE
              snapsync relocate --db phone.db --cloud /mnt/new/cloud
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("The path of the directory from now on.", valueName: "dir"), completion: .directory)
    var cloud: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: path).relocate(to: cloud)
            try output.printer.done(
                report, ["\(report.database) finds its cloud in \(report.cloud) from now on", "  it was stored as \(report.previousCloud)"])
        }
    }
}
