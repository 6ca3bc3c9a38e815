/// The user's choice about syncing a database.
public enum SyncChoice: String, Hashable, Sendable, Codable, CaseIterable {
    /// No choice yet; nothing is synced until there is one.
    case undecided
    case on
    case off

    /// The choice `on` or `off`.
    public init(isOn: Bool) { self = isOn ? .on : .off }

    /// Whether syncing is on; nil if there is no choice yet.
    public var isOn: Bool? {
        switch self {
        case .undecided: nil
        case .on: true
        case .off: false
        }
    }
}
