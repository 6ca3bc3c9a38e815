import StrictText

/// What a commit does to its zone, as JSON: `{"kind":"deleted","reason":"purged"}`, `{"kind":"created"}`, or
/// `{"kind":"moved","to":{"creator":"…","features":["signed"],"zone":"…"}}`, with `members` in a signed zone.
struct ZoneEventDocument: Codable {
    let kind: String
    let reason: String?
    /// The zone that continues a zone that was moved.
    let to: ZoneSuccessor?

    /// The feature that such a commit names in `requires`, so that a reader that does not know it stops there.
    static let requirement = "zoneEvents"

    init(_ event: ZoneEvent) {
        switch event {
        case .deleted(let reason): (kind, self.reason, to) = ("deleted", reason.rawValue, nil)
        case .created: (kind, reason, to) = ("created", nil, nil)
        case .moved(let successor): (kind, reason, to) = ("moved", nil, successor)
        }
    }

    /// The event; nil if this version does not know it.
    var event: ZoneEvent? {
        switch kind {
        case "deleted": reason.flatMap(ZoneDeletion.Reason.init(rawValue:)).map(ZoneEvent.deleted)
        case "created": .created
        case "moved": to.flatMap { $0.isKnown ? .moved($0) : nil }
        default: nil
        }
    }

    /// The deletion by a commit of this device and timestamp; nil if the commit deletes nothing.
    func deletion(at timestamp: Instant, device: String) -> ZoneDeletion? {
        switch event {
        case .deleted(let reason): ZoneDeletion(reason: reason, device: device, at: timestamp)
        case .moved(let successor): ZoneDeletion(reason: .deleted, device: device, at: timestamp, successor: successor)
        case .created, nil: nil
        }
    }

    /// The error for an event that this version does not know; nil for a known event.
    func unknown(at place: String) -> CloudError? {
        guard event == nil else { return nil }
        return CloudError(
            .incompatibleVersion, at: place, "the commit does to the zone what this version does not know", hint: "update snapsync on this device")
    }
}

/// A deletion that still holds at a checkpoint, as JSON: `{"at":"…","by":"writer","reason":"purged"}`.
struct ZoneDeletionDocument: Codable {
    let at: Instant
    let by: String
    let reason: String

    init(_ deletion: ZoneDeletion) {
        at = deletion.at
        by = deletion.device
        reason = deletion.reason.rawValue
    }

    /// Returns the deletion.
    ///
    /// - Throws: ``CloudError`` with `.incompatibleVersion` for a reason that this version does not know.
    func deletion(at place: String) throws(CloudError) -> ZoneDeletion {
        guard let reason = ZoneDeletion.Reason(rawValue: reason) else {
            throw CloudError(
                .incompatibleVersion, at: place, "the zone was deleted for a reason that this version does not know",
                hint: "update snapsync on this device")
        }
        return ZoneDeletion(reason: reason, device: by, at: at)
    }
}

extension ZoneSuccessor {
    /// Whether this version can follow to that zone: its features are known, and it is signed.
    fileprivate var isKnown: Bool {
        CloudNames.isName(zone) && KeyFingerprint(creator)?.words == creator && protection.contains(.signed)
    }

    /// The error for every reader and publisher of the moved zone.
    fileprivate func error(in zone: ZoneID, _ deletion: ZoneDeletion) -> CloudError {
        var error = CloudError(
            .zoneMoved, at: "\(zone)", "\(deletion.device) has \(kind) the zone at \(deletion.at); it goes on as zone \(self.zone), made by \(creator)",
            hint: "a device that is set up follows with its next snapsync sync; a command without a database wants --zone \(self.zone)")
        var successor = self
        // A device that follows to the new zone has the list of members already, or has checked it.
        successor.members = nil
        error.successor = successor
        return error
    }
}

extension ZoneDeletion {
    /// The error for every reader and publisher of the deleted zone.
    func error(in zone: ZoneID) -> CloudError {
        if let successor { return successor.error(in: zone, self) }
        let words =
            switch reason {
            case .deleted: "the zone was deleted"
            case .purged: "the zone was deleted by the user, with all the app's data"
            case .encryptedDataReset: "the zone was deleted because the account's encrypted data was reset"
            }
        return CloudError(
            .userDeletedZone, at: "\(zone)", "\(words), on \(device) at \(at)", hint: "what is here was not touched; decide whether to keep it",
            zoneDeletion: self)
    }
}
