import GRDB

/// A zone that this database has left, because it was signed or sealed and goes on in another one.
package struct EarlierZone: Hashable, Sendable, Codable {
    package let zone: String
    /// The last version of it that was here; nil if there was none.
    package let version: AppliedVersion?
    /// Whether this database made the zone in which it goes on.
    package let madeNext: Bool
    /// Whether its members are still to be made members of the next one, by this database.
    package var mustAdmit: Bool
    /// Whether its old versions were removed by this database.
    package var isPruned: Bool

    package init(zone: String, version: AppliedVersion?, madeNext: Bool, mustAdmit: Bool = false) {
        (self.zone, self.version, self.madeNext, self.mustAdmit, isPruned) = (zone, version, madeNext, mustAdmit, false)
    }
}

extension StateTable {
    /// The zones that this database has left, oldest first.
    package func earlierZones() throws -> [EarlierZone] { try value("earlierZones") ?? [] }

    /// Records the zones that this database has left.
    package func setEarlierZones(_ zones: [EarlierZone]) throws { try setValue("earlierZones", zones.isEmpty ? nil : zones) }

    /// Where the zone goes on, as JSON, at a device that cannot follow yet. From then on nothing that the zone holds counts.
    package func nextZone() throws -> String? { try table.text(of: "nextZone") }

    /// Records, or forgets, where the zone goes on.
    package func setNextZone(_ text: String?) throws { try table.setText(text, of: "nextZone") }

    /// Whether a version is one of the zone that was left last: then nothing was imported from the present one.
    package func isOfEarlierZone(_ version: AppliedVersion?) throws -> Bool { try version != nil && earlierZones().last?.version == version }

    /// The applied version as far as it is one of the zone of the settings; nil before the first import after the zone was left for another.
    package func appliedHere() throws -> AppliedVersion? {
        let applied = try applied()
        return try isOfEarlierZone(applied) ? nil : applied
    }
}

extension LocalTransaction {
    /// Makes `name` the zone of this database. What was tracked here, and what was tombstoned, stays as it is; what names versions of the zone
    /// that is left is forgotten.
    ///
    /// - Parameter earlier: what is kept of that zone. At the database that makes the next one there is no applied version from here on.
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
        try inbox.forgetNumbers()
    }
}
