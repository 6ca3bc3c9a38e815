import ArgumentParser
import SnapshotSync

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
