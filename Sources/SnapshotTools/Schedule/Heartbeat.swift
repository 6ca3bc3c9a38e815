import Foundation
import ObjectCloud

/// A request to a monitor after each sync that ended well: where the request stays away, the monitor raises the alarm.
///
/// The path of such a URL is often a secret of its own, so only scheme and host are ever named.
package struct Heartbeat: Sendable {
    private let url: String
    /// `https://monitor.example`: where the request goes.
    package let place: String

    /// How long a request may take, in seconds.
    package static let limitSeconds = 10

    /// - Returns: nil if the text is no `http` or `https` URL of printable ASCII.
    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let end = text.range(of: "://") else { return nil }
        let scheme = text[..<end.lowerBound].lowercased()
        let authority = text[end.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard ["http", "https"].contains(scheme), !host.isEmpty, !host.hasPrefix(":") else { return nil }
        (url, place) = (text, "\(scheme)://\(host)")
    }

    /// Sends a GET. Blocks for ``limitSeconds`` at most; redirects are not followed.
    ///
    /// - Returns: why the monitor did not take it, in a sentence that names no secret; nil if it did.
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
