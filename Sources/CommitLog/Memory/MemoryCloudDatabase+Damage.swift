package import CloudStore
import StrictText

// Simulates what pruning, a failing disk or a slow sync tool does to files, for the tests of other modules.
extension MemoryCloudDatabase {
    /// Changes a commit's bytes; nil removes the commit.
    package func damageCommit(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.commits[number]) }
    }

    /// Changes a checkpoint's bytes; nil removes the checkpoint.
    package func damageCheckpoint(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.checkpoints[number]) }
    }

    /// Changes the bytes of an asset or index, named by its path beneath the zone; nil removes the file.
    package func damageAsset(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.assets[path]) }
    }

    /// Changes the bytes of a sender's message, by its file name. A result of nil removes it; a file that did not exist (nil) is created.
    package func damageMessage(_ name: String, of sender: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.messages[sender, default: [:]][name]) }
    }

    /// Changes the bytes of a file, named by its path beneath the zone as in a directory cloud.
    package func damage(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        let parts = path.exact.split(separator: "/")
        switch (parts.first, parts.last.flatMap(CloudNames.number(ofFile:))) {
        case (CloudNames.commits, let number?): try damageCommit(number, in: zone, change)
        case (CloudNames.checkpoints, let number?): try damageCheckpoint(number, in: zone, change)
        case (CloudNames.messages, _) where parts.count == 3: try damageMessage(parts[2], of: parts[1], in: zone, change)
        default: try damageAsset(path, in: zone, change)
        }
    }

    private func files(of zone: ZoneID, _ change: (inout MemoryFiles) -> Void) throws {
        try store(zone).zone.change(change)
    }
}
