/// What the user has said about syncing a database.
public enum SyncChoice: String, Hashable, Sendable, Codable, CaseIterable {
    /// Nothing yet: nothing is synced until there is a choice.
    case undecided
    case on
    case off

    /// A choice that was made.
    public init(isOn: Bool) { self = isOn ? .on : .off }

    /// Whether it is on; nil while nothing was chosen.
    public var isOn: Bool? {
        switch self {
        case .undecided: nil
        case .on: true
        case .off: false
        }
    }
}
