public import StrictText

/// A second store of the user's choice, such as an application's own settings, that is bound to the database's.
///
/// The database decides. A change in the bound store since the last look is the user's word and is taken over; a change in the
/// database is written out. Where both have changed, the later one counts; where that is not known, off. While the database is
/// undecided, a value in the bound store is the user's choice.
public protocol PreferenceBinding: Sendable {
    /// What the store says; nil if it says nothing. A store that was just made, or reset, says nothing: that is no wish.
    func load() throws -> BoundPreference?
    /// Writes, so that it lasts; nil takes the value away, for a choice that was taken back.
    func store(_ isOn: Bool?) throws
    /// Yields when the value may have become another one: the gate then looks at once (``SyncGate/decisions()``, a watch). Each call makes a
    /// stream of its own. Nil, the default, for a store that cannot tell.
    var changes: AsyncStream<Void>? { get }
}

extension PreferenceBinding {
    public var changes: AsyncStream<Void>? { nil }
}

/// What a bound store says.
public struct BoundPreference: Hashable, Sendable {
    public let isOn: Bool
    /// When the user changed it, if the store knows.
    public let changedAt: Instant?

    public init(isOn: Bool, changedAt: Instant? = nil) {
        self.isOn = isOn
        self.changedAt = changedAt
    }
}
