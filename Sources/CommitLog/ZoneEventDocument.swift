import CloudStore
import StrictText

/// What a commit does to its zone, as JSON: `{"kind":"deleted","reason":"purged"}` or `{"kind":"created"}`.
struct ZoneEventDocument: Codable {
    let kind: String
    let reason: String?

    /// What such a commit names under `requires`: a reader that does not know it stops there.
    static let requirement = "zoneEvents"

    init(_ event: ZoneEvent) {
        switch event {
        case .deleted(let reason): (kind, self.reason) = ("deleted", reason.rawValue)
        case .created: (kind, reason) = ("created", nil)
        }
    }

    /// The event; nil if this version does not know it.
    var event: ZoneEvent? {
        switch kind {
        case "deleted": reason.flatMap(ZoneDeletion.Reason.init(rawValue:)).map(ZoneEvent.deleted)
        case "created": .created
        default: nil
        }
    }

    /// The deletion that a commit of this device and timestamp is; nil if it is none.
    func deletion(at timestamp: Instant, device: String) -> ZoneDeletion? {
        guard case .deleted(let reason) = event else { return nil }
        return ZoneDeletion(reason: reason, device: device, at: timestamp)
    }

    /// The error for an event that this version does not know; nil for one that it does.
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

    /// The deletion.
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

extension ZoneDeletion {
    /// What every reader and publisher of the deleted zone gets.
    func error(in zone: ZoneID) -> CloudError {
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
