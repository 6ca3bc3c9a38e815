package import CloudStore

// What pruning, a failing disk or a slow sync tool does to files, for tests and simulations of the rooms above.
extension MemoryCloudDatabase {
    /// Changes a commit's bytes; nil takes the commit away.
    package func damageCommit(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.commits[number]) }
    }

    /// Changes a checkpoint's bytes; nil takes the checkpoint away.
    package func damageCheckpoint(_ number: Int, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.checkpoints[number]) }
    }

    /// Changes the bytes of an asset or index, named by its path beneath the zone; nil takes the file away.
    package func damageAsset(_ path: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.assets[path]) }
    }

    /// Changes the bytes of a sender's message, by its file's name; nil takes it away, and what was nil is put there.
    package func damageMessage(_ name: String, of sender: String, in zone: ZoneID, _ change: (inout [UInt8]?) -> Void) throws {
        try files(of: zone) { change(&$0.messages[sender, default: [:]][name]) }
    }

    private func files(of zone: ZoneID, _ change: (inout MemoryFiles) -> Void) throws {
        try store(zone).zone.change(change)
    }
}
