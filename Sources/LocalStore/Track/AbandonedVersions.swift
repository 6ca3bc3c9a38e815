import GRDB

// What is known of versions that the zone no longer has, because an older state of it was put back.
extension LocalTransaction {
    /// Forgets what was recorded of the versions after `number`: what this device published in them, which messages they answered, and
    /// how they follow one another.
    ///
    /// A message that such a version answered is applied again if it is still in the mailbox, for its effect is gone.
    package func forgetVersions(after number: Int) throws {
        try state.setIntended(nil)
        try state.setPendingPins(state.pendingPins().filter { $0.version <= number })
        try lineage.forget(after: number)
        if try db.hasTable(PublishedChanges.table) { try db.execute(sql: "DELETE FROM \(PublishedChanges.table) WHERE version > ?", arguments: [number]) }
        try state.setMailboxListing(nil)
        if try mailbox.exist() { try db.execute(sql: "DELETE FROM snapsync_inbox WHERE named > ?", arguments: [number]) }
    }
}
