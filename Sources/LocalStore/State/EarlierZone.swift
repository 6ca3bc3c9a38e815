import GRDB

/// A zone that this database has left for its successor, because the zone was signed or sealed.
package struct EarlierZone: Hashable, Sendable, Codable {
    package let zone: String
    /// The last version of the zone that this database had; nil if there was none.
    package let version: AppliedVersion?
    /// Whether this database created the successor zone.
    package let madeNext: Bool
    /// Whether this database must still admit the zone's members to the successor zone.
    package var mustAdmit: Bool
    /// Whether this database has removed the zone's old versions.
    package var isPruned: Bool

    package init(zone: String, version: AppliedVersion?, madeNext: Bool, mustAdmit: Bool = false) {
        (self.zone, self.version, self.madeNext, self.mustAdmit, isPruned) = (zone, version, madeNext, mustAdmit, false)
    }
}

extension StateTable {
    /// The zones that this database has left, oldest first.
    package func earlierZones() throws -> [EarlierZone] { try value("earlierZones") ?? [] }
    package func setEarlierZones(_ zones: [EarlierZone]) throws { try setValue("earlierZones", zones.isEmpty ? nil : zones) }

    /// The successor of the zone, as JSON, while the device waits to be approved there. Meanwhile the device ignores the present zone.
    package func nextZone() throws -> String? { try table.text(of: "nextZone") }
    package func setNextZone(_ text: String?) throws { try table.setText(text, of: "nextZone") }

    /// Whether a version belongs to the zone that was left last. Then nothing was imported from the present zone yet.
    package func isOfEarlierZone(_ version: AppliedVersion?) throws -> Bool { try version != nil && earlierZones().last?.version == version }

    /// The applied version if it belongs to the present zone; nil between leaving a zone and the first import from its successor.
    package func appliedHere() throws -> AppliedVersion? {
        let applied = try applied()
        return try isOfEarlierZone(applied) ? nil : applied
    }
}

extension LocalTransaction {
    /// Makes `name` the zone of this database. Tracked changes and tombstones stay; everything that refers to versions of the previous zone is
    /// deleted.
    ///
    /// - Parameter earlier: what to keep about the previous zone. If this database created the successor, it has no applied version from here on.
    package func enterZone(_ name: String, after earlier: EarlierZone) throws {
        let schemas = try settings.read().datasets
        try settings.setZone(name)
        try state.setNextZone(nil)
        try state.setEarlierZones(state.earlierZones() + [earlier])
        try state.setIntended(nil)
        for schema in schemas { try state.setKnownRecord(nil, of: schema) }
        if earlier.madeNext { try state.forgetApplied() }
        try state.setView(nil)
        try state.setMailboxListing(nil)
        try state.setOwnCommitsKnown(0)
        try state.setPendingPins([])
        try state.setDescriptionNote(nil)
        if let version = try state.undoPoint()?.version { try state.dropUndoPoint(of: version) }
        try state.setBootstrapNote(BootstrapNote(madeZone: earlier.madeNext))
        for table in [LocalTable.published, .lineage] { try table.drop(in: db) }
        try decidedEdits.carryOver()
    }
}
