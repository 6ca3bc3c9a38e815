import CloudStore
import DirectoryCloud
import SnapshotEngine
import SnapshotVersions

/// What a cloud's directory is like.
struct DirectoryFacts: Sendable {
    let path: String
    let fileSystem: DoctorFacts.Look<FileSystemFacts>
    /// The tool that replicates the folder, and what shows it; nil if none does.
    let tool: (name: String, sign: String)?
    /// Whether `init` was told that a tool replicates the directory.
    var isSaidReplicated = false
    /// Why events of the file system do not tell everything; nil if they do.
    let polling: String?
    /// What the file system can do; nil where nothing is to be written, for the device does not publish.
    var probe: DoctorFacts.Look<DirectoryProbe>?
    /// The directories of the zone in which this device makes files and may not, beneath the cloud.
    var forbidden: [String] = []
    /// Whether the device publishes; a reader makes messages and reports.
    let publishes: Bool
    var foreign: DoctorFacts.Look<[ForeignFile]> = .success([])

    /// Looks at a directory.
    ///
    /// - Parameters:
    ///   - publishes: whether the device publishes.
    ///   - triesOut: whether to try out what the file system can do, in a folder that is removed again.
    ///   - device: the device's name; nil where no database is looked at.
    init(_ cloud: DirectoryCloud, zone: ZoneID, publishes: Bool, triesOut: Bool, device: String?) async {
        path = cloud.path
        self.publishes = publishes
        fileSystem = await DoctorFacts.look(.open) { try FileSystemFacts(ofDirectory: cloud.path) }
        tool = ReplicatedFolder.tool(of: cloud.path)
        polling = ZoneEvents(cloud: cloud.path, zone: zone) { _ in }.arm()
        guard (try? await cloud.zone(zone)) != nil else { return }
        foreign = await DoctorFacts.look(.fetch) { try await cloud.foreignFiles(in: zone) }
        guard let device else { return }
        func isForbidden(_ folder: String) -> Bool { !FileSystemFacts.isWritable("\(cloud.path)/\(folder)") }
        guard publishes else {
            // A folder of the device's own is made in the one above, if it is not there yet.
            forbidden = [CloudNames.messages, CloudNames.devices].map { kind -> String in
                let own = "\(zone)/\(kind)/\(device)", all = "\(zone)/\(kind)"
                return [own, all].first { FileSystemFacts.isThere("\(cloud.path)/\($0)") } ?? "\(zone)"
            }.filter(isForbidden)
            return
        }
        let folders = ["", CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.devices].map { "\(zone)" + ($0.isEmpty ? "" : "/\($0)") }
        forbidden = folders.filter(isForbidden)
        // What may not be written is not tried out either.
        if forbidden.isEmpty, triesOut { probe = await DoctorFacts.look(.store) { try await cloud.probe(zone) } }
    }
}
