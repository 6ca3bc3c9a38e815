import Foundation
import StrictText

/// The date of an HTTP header (RFC 9110): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The instant; nil for other text.
    static func instant(_ text: String) -> Instant? {
        let parts = text.exact.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", parts[1].count == 2, parts[3].count == 4, parts[4].count == 8,
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        return try? Instant(parsing: "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4])Z")
    }
}
