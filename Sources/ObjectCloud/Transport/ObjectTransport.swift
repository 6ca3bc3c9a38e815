import CloudStore
import Foundation

/// One HTTP request to an object store, complete with its headers.
package struct ObjectRequest: Sendable {
    package var method: String
    /// The absolute URL, percent-encoded.
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The largest accepted body of the answer, in bytes. A longer one ends the request.
    package var responseLimit: Int

    package init(method: String, url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [], responseLimit: Int) {
        (self.method, self.url, self.headers, self.body, self.responseLimit) = (method, url, headers, body, responseLimit)
    }
}

/// The answer to an ``ObjectRequest``.
package struct ObjectResponse: Sendable {
    /// The HTTP status.
    package let status: Int
    /// The headers; names in lower case.
    package let headers: [String: String]
    package let body: [UInt8]
}

/// Why there is no complete answer.
package struct TransportFault: Error, Sendable {
    package enum Kind: Sendable {
        /// The server was not reached and has not processed the request.
        case unreachable
        /// The server's certificate or its TLS was not accepted; the server has not processed the request.
        case insecure
        /// The connection ended or timed out after the request was started; the server may have processed it.
        case cut
        /// The answer is longer than ``ObjectRequest/responseLimit``.
        case tooLong
    }

    package let kind: Kind
    /// The reason, as a text.
    package let reason: String

    package init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }
}

/// Sends requests to an object store and returns the answers. Calls are synchronous and may come from several threads at once.
///
/// An implementation does not retry and does not follow redirects.
package protocol ObjectTransport: Sendable {
    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse
}
