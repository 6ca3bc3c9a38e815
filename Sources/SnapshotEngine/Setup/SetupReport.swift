/// What `init` did.
public struct SetupReport: Sendable, Encodable {
    public let database: String
    public let cloud: String
    public let cloudUUID: String
    public let zone: String
    public let role: String
    public let device: String
    public let datasets: [String]
    /// The tables that were made.
    public let tablesMade: [String]
    /// The database's journal mode, which `init` leaves as it is in a database that was there before.
    public let journalMode: String
    /// Whether a cloud was made in the directory.
    public let cloudMade: Bool
    /// Whether sync is on.
    public let isEnabled: Bool
    /// The user's choice: `undecided`, `on` or `off`.
    public let preference: String
    /// The application's triggers of the tables that travel, and what becomes of them at an import.
    public let triggers: [TriggerReport]
    /// Whether the database was the same device of the zone before it was detached.
    public internal(set) var isReturning = false
    /// How many edits that waited since `detach` are tracked again.
    public internal(set) var changesTaken = 0
    /// The datasets that say what readers may edit, besides the built-in ones.
    public internal(set) var readerEdits: [String] = []
    /// The number of this device's range of new keys in its zone, from 0; nil if it has none.
    public internal(set) var keyRange: Int?
    /// What makes the zone a signed one; nil if it is none.
    public internal(set) var signature: SignedSetupReport?
    /// What deserves attention, in words.
    public internal(set) var warnings: [String] = []
    /// The tables as they were described, if the description was made from the database. Not part of the JSON; ``DescribeReport`` has its own.
    public internal(set) var described: DescribeReport?

    enum CodingKeys: String, CodingKey {
        case database, cloud, cloudUUID, zone, role, device, datasets, tablesMade, journalMode, cloudMade, isEnabled, preference, triggers, isReturning,
            changesTaken, readerEdits, keyRange, signature, warnings
    }
}

/// How a device stands in a signed zone after `init`.
public struct SignedSetupReport: Sendable, Encodable {
    /// The fingerprint of the zone's creator; nil where nothing has been published yet and none was given.
    public let creator: String?
    /// Whether the fingerprint was given, or is this device's own. If not, the device trusts whom it has met first.
    public let isVerified: Bool
    /// This device's own fingerprint.
    public let fingerprint: String
    /// Whether the device is a member. If not, it has asked to be one.
    public let isMember: Bool
    /// Where the private keys lie.
    public let keys: String
    /// Whether the zone is sealed: the store cannot read what it holds.
    public let isSealed: Bool
    /// The words of the recovery code, at the device that has made a sealed zone: a secret, which is stored nowhere.
    public internal(set) var recoveryCode: String?
}
