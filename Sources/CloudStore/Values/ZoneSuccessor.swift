package import StrictText

/// The zone that continues another one, which was signed or sealed after a time of use without.
public struct ZoneSuccessor: Hashable, Sendable, Codable {
    /// The zone's name. It is in the same scope of the same cloud.
    public let zone: String
    /// The key fingerprint of the device that creates it, in eight words (``KeyFingerprint``).
    public let creator: String
    /// The features that a reader must support to read it (``ZoneInfo/features``): `signed`, or `sealed` and `signed`, perhaps with more.
    public let features: [String]

    /// If the moved zone is signed: the statements of its list of members. With them its last commit can be verified after everything else
    /// was removed.
    package var members: [String]?

    package init(zone: String, creator: String, features: [String], members: [String]? = nil) {
        (self.zone, self.creator, self.features, self.members) = (zone, creator, features, members)
    }

    /// Whether the zone is encrypted for its members.
    public var isSealed: Bool { protection.contains(.sealed) }

    /// How the zone is protected.
    package var protection: ZoneProtection { ZoneProtection(features: features) ?? [] }

    /// The word for error messages: `signed` or `sealed`.
    package var kind: String { isSealed ? "sealed" : "signed" }

    /// Whether this version can follow to that zone: its features are known, and it is signed.
    fileprivate var isKnown: Bool {
        CloudNames.isName(zone) && KeyFingerprint(creator)?.words == creator && protection.contains(.signed)
    }
}

/// By which commit a zone was moved. No commit follows it.
package struct ZoneMove: Hashable, Sendable {
    package let successor: ZoneSuccessor
    /// The device that moved the zone.
    package let device: String
    /// The commit's timestamp.
    package let at: Instant

    /// The error for every reader and publisher of the moved zone.
    func error(in zone: ZoneID) -> CloudError {
        var error = CloudError(
            .zoneMoved, at: zone.place,
            "\(device) has \(successor.kind) the zone at \(at); it goes on as zone \(successor.zone), made by \(successor.creator)",
            hint: "a device that is set up follows with its next snapsync sync; a command without a database wants --zone \(successor.zone)")
        var successor = successor
        // A device that follows to the new zone has the list of members already, or has checked it.
        successor.members = nil
        error.successor = successor
        return error
    }
}

/// What a commit does to its zone, as JSON: `{"kind":"moved","to":{"creator":"…","features":["signed"],"zone":"…"}}`, with `members` in a signed
/// zone.
struct ZoneEventDocument: Codable {
    private let kind: String
    private let to: ZoneSuccessor?

    /// The feature that such a commit names in `requires`, so that a reader that does not know it stops there.
    static let requirement = "zoneEvents"

    init(_ successor: ZoneSuccessor) { (kind, to) = ("moved", successor) }

    /// The zone that continues this one; nil if this version does not know the event.
    var successor: ZoneSuccessor? { kind == "moved" ? to.flatMap { $0.isKnown ? $0 : nil } : nil }

    /// The error for an event that this version does not know; nil for a known event.
    func unknown(at place: String) -> CloudError? {
        guard successor == nil else { return nil }
        return CloudError(
            .incompatibleVersion, at: place, "the commit does to the zone what this version does not know", hint: "update snapsync on this device")
    }
}
