import CloudStore
import DirectoryCloud
import Foundation
import Platform
import SnapshotEngine
import SnapshotVersions

/// The facts about a cloud's directory.
struct DirectoryFacts: Sendable {
    let path: String
    let fileSystem: DoctorFacts.Look<FileSystemFacts>
    /// The tool that replicates the folder, and what shows that; nil if there is none.
    let tool: (name: String, sign: String)?
    /// Whether the user said at `init` that a tool replicates the directory.
    var isSaidReplicated = false
    /// Why file events are not reliable here, so that the directory is polled; nil if they are.
    let polling: String?
    /// What the file system can do; nil if that is not probed, for example because the device does not publish.
    var probe: DoctorFacts.Look<DirectoryProbe>?
    /// The directories of the zone to which this device needs to write and cannot; relative to the cloud's directory.
    var forbidden: [String] = []
    /// The files of the zone that this user cannot read; relative to the cloud's directory.
    var unreadable: [String] = []
    /// Whether the device publishes. A reader writes only messages and reports.
    let publishes: Bool
    var foreign: DoctorFacts.Look<[ForeignFile]> = .success([])

    /// Collects the facts about a directory.
    ///
    /// - Parameters:
    ///   - publishes: whether the device publishes.
    ///   - triesOut: whether to probe the file system in a folder that is removed afterwards.
    ///   - device: the device's name; nil without a database.
    init(_ cloud: DirectoryCloud, zone: ZoneID, publishes: Bool, triesOut: Bool, device: String?) async {
        path = cloud.path
        self.publishes = publishes
        fileSystem = await DoctorFacts.look(.open) { try FileSystemFacts(ofDirectory: cloud.path) }
        tool = ReplicatedFolder.tool(of: cloud.path)
        polling = ZoneEvents(cloud: cloud.path, zone: zone) { _ in }.arm()
        guard (try? await cloud.zone(zone)) != nil else { return }
        unreadable =
            FileManager.default.enumerator(atPath: "\(cloud.path)/\(zone)")?.compactMap { $0 as? String }.map { "\(zone)/\($0)" }
            .filter { FileAccess.read.refusal("\(cloud.path)/\($0)")?.isForbidden == true } ?? []
        foreign = await DoctorFacts.look(.fetch) { try await cloud.foreignFiles(in: zone) }
        guard let device else { return }
        func isForbidden(_ folder: String) -> Bool { !FileSystemFacts.isWritable("\(cloud.path)/\(folder)") }
        guard publishes else {
            // If the device's own folder does not exist yet, it is created in the folder above, so that one must be writable.
            forbidden = [CloudNames.messages, CloudNames.devices].map { kind -> String in
                let own = "\(zone)/\(kind)/\(device)", all = "\(zone)/\(kind)"
                return [own, all].first { FileSystemFacts.isThere("\(cloud.path)/\($0)") } ?? "\(zone)"
            }.filter(isForbidden)
            return
        }
        let folders = ["", CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.devices].map { "\(zone)" + ($0.isEmpty ? "" : "/\($0)") }
        forbidden = folders.filter(isForbidden)
        // The probe writes, so it is skipped if a folder is not writable.
        if forbidden.isEmpty, triesOut { probe = await DoctorFacts.look(.store) { try await cloud.probe(zone) } }
    }
}
