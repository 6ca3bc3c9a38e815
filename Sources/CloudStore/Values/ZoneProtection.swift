/// What the keys of a zone's members do in it: sign, encrypt, and how. `zone.json` and each commit say so.
public struct ZoneProtection: OptionSet, Hashable, Sendable, Codable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Keys, not rights on the store, decide who may publish and send messages.
    public static let signed = ZoneProtection(rawValue: 1)
    /// The store cannot read what the zone holds. Such a zone is signed, too.
    public static let sealed = ZoneProtection(rawValue: 2)
    /// What is encrypted is padded, so that the store learns sizes roughly. Such a zone is sealed.
    public static let padded = ZoneProtection(rawValue: 4)
    /// The zone's keys are encrypted for its members with X-Wing (ML-KEM-768 and X25519) in place of X25519. Such a zone is sealed.
    public static let postQuantum = ZoneProtection(rawValue: 8)

    package static let all: ZoneProtection = [.signed, .sealed, .padded, .postQuantum]

    // In the order in which `zone.json` and commits have them.
    private static let names: [(String, ZoneProtection)] = [
        ("padded", .padded), ("post-quantum", .postQuantum), ("sealed", .sealed), ("signed", .signed),
    ]

    /// How `zone.json` names it among a zone's features, and each commit under `requires`.
    package var features: [String] { Self.names.filter { contains($0.1) }.map(\.0) }

    /// The protection of these features; nil if one is not known, or they do not go together.
    package init?(features: [String]) {
        self = []
        for feature in features {
            guard let known = Self.names.first(where: { $0.0 == feature }) else { return nil }
            insert(known.1)
        }
        guard isPossible else { return nil }
    }

    /// Whether the parts go together.
    private var isPossible: Bool {
        (!contains(.sealed) || contains(.signed)) && (isDisjoint(with: [.padded, .postQuantum]) || contains(.sealed))
    }

    /// Which key the zone's members give each other the zone's keys with.
    package var sealingKeyKind: SealingKeyKind { contains(.postQuantum) ? .xWing : .x25519 }
}
