/// What may have happened in a zone. A hint only wakes: it may come twice, late, or for nothing, so whoever is woken looks.
public enum ZoneHint: Hashable, Sendable {
    /// A commit of that number came.
    case commit(Int)
    /// A message of that device came.
    case message(from: String)
    /// Anything may have happened, or the cloud came or went.
    case anything
}

/// Tells of what happens in one zone, for as long as somebody keeps it (``RecordDatabase/events(in:_:)``).
public protocol ZoneEventSource: AnyObject, Sendable {
    /// Begins to listen. Call it again after each ``ZoneHint/anything``: it then listens to what has come since, too.
    ///
    /// - Returns: why the hints do not tell everything, in words, so that a poll must do the rest; nil if they do.
    func arm() -> String?
}
