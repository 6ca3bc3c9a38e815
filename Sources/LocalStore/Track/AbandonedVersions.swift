import GRDB

// What the local store records about versions that the zone no longer has, because an older state of the zone was restored.
extension LocalTransaction {
    /// Deletes the records about versions after `number`: what this device published in them, which edits they decided, and their place in
    /// the lineage.
    ///
    /// An edit that such a version decided is decided again if its message is still in the mailbox, because its effect is gone from the zone.
    package func forgetVersions(after number: Int) throws {
        try state.setIntended(nil)
        try state.setPendingPins(state.pendingPins().filter { $0.version <= number })
        try lineage.forget(after: number)
        if try db.hasTable(PublishedChanges.table) { try db.execute(sql: "DELETE FROM \(PublishedChanges.table) WHERE version > ?", arguments: [number]) }
        try state.setMailboxListing(nil)
        try decidedEdits.forgetUnpublished()
        try decidedEdits.setOfVersion([:])
    }
}
