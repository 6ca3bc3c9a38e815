/// The requests that were sent to an object store, and the bytes of their bodies.
public struct RequestUsage: Hashable, Sendable, Encodable {
    /// GET and HEAD, listings too.
    public private(set) var reads = 0
    /// PUT and POST.
    public private(set) var writes = 0
    /// DELETE.
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
}
