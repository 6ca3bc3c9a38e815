import Synchronization

/// The requests that were sent to an object store, and the bytes of their bodies.
public struct RequestUsage: Hashable, Sendable, Encodable {
    /// GET and HEAD requests, including listings.
    public private(set) var reads = 0
    /// PUT and POST requests.
    public private(set) var writes = 0
    /// DELETE requests.
    public private(set) var removals = 0
    public private(set) var bytesSent = 0
    public private(set) var bytesReceived = 0

    mutating func add(_ method: String, sent: Int, received: Int) {
        switch method {
        case "GET", "HEAD": reads += 1
        case "DELETE": removals += 1
        default: writes += 1
        }
        bytesSent += sent
        bytesReceived += received
    }

    /// The usage since `earlier`; nil if there was none.
    package func since(_ earlier: RequestUsage) -> RequestUsage? {
        guard self != earlier else { return nil }
        var difference = self
        difference.reads -= earlier.reads
        difference.writes -= earlier.writes
        difference.removals -= earlier.removals
        difference.bytesSent -= earlier.bytesSent
        difference.bytesReceived -= earlier.bytesReceived
        return difference
    }
}

/// Counts the requests of one client, or of several consecutive ones.
package final class RequestMeter: Sendable {
    private let counted = Mutex(RequestUsage())

    package init() {}

    /// The requests and bytes so far.
    package var usage: RequestUsage { counted.withLock { $0 } }

    func add(_ method: String, sent: Int, received: Int) { counted.withLock { $0.add(method, sent: sent, received: received) } }
}
