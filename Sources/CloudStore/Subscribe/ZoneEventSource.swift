/// What may have changed in a zone. A hint is only a wake-up: it may come twice, late, or for nothing, so the receiver must read the zone.
public enum ZoneHint: Hashable, Sendable {
    /// A commit of that number arrived.
    case commit(Int)
    /// A message of that device arrived.
    case message(from: String)
    /// Anything may have changed, or the cloud appeared or disappeared.
    case anything
}

/// Reports events of one zone for as long as it is retained (``CloudDatabase/events(in:_:)``).
public protocol ZoneEventSource: AnyObject, Sendable {
    /// Starts to listen. Call it again after each ``ZoneHint/anything``, so that it also listens to folders that have appeared since.
    ///
    /// - Returns: why some events will not be reported, as a text, so that the caller must poll as well; nil if all are reported.
    func arm() -> String?
}
