import Foundation
import ObjectCloud
import StrictText

/// An HTTP request to a monitoring service after each successful sync. The service raises an alarm when the requests stop.
///
/// The path of such a URL is often a secret, so messages name only the scheme and host.
package struct Heartbeat: Sendable {
    private let url: String
    /// The scheme and host of the URL, such as `https://monitor.example`.
    package let place: String

    /// The maximum duration of a request, in seconds.
    package static let limitSeconds = 10

    /// - Returns: nil if the text is no `http` or `https` URL of printable ASCII.
    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let end = text.range(of: "://") else { return nil }
        let scheme = String(text[..<end.lowerBound]).folded.text
        let authority = text[end.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.exact.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard ["http", "https"].contains(scheme), !host.isEmpty, !host.exact.hasPrefix(":") else { return nil }
        (url, place) = (text, "\(scheme)://\(host)")
    }

    /// Sends a GET request. Blocks for at most ``limitSeconds``; redirects are not followed.
    ///
    /// - Returns: why the request failed, in a sentence without secrets; nil if it succeeded.
    package func send() -> String? {
        do {
            let transport = CurlTransport(connectSeconds: Self.limitSeconds, limitSeconds: Self.limitSeconds)
            let answer = try transport.send(ObjectRequest(method: "GET", url: url, responseLimit: 64 << 10))
            guard !(200..<300).contains(answer.status) else { return nil }
            return "the heartbeat to \(place) was not taken: the answer is \(answer.status)"
        } catch {
            return "the heartbeat to \(place) was not taken: \(error.reason)"
        }
    }
}
