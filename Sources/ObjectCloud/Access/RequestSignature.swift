import CloudStore
import Crypto
import Foundation
package import StrictText

/// Signs requests with AWS Signature Version 4, which all S3-compatible object stores use.
///
/// Source: AWS, "Create a signed AWS API request". The examples of that page are tests.
package struct RequestSignature {
    package let credentials: ObjectCredentials
    package let region: String
    package var service = "s3"

    package init(_ credentials: ObjectCredentials, region: String, service: String = "s3") {
        (self.credentials, self.region, self.service) = (credentials, region, service)
    }

    /// Returns the headers that sign a request, without `host`.
    ///
    /// - Parameters:
    ///   - path: percent-encoded.
    ///   - query: the parameters, not encoded.
    ///   - headers: other headers to sign; names in lower case.
    ///   - bodyHash: the SHA-256 of the body in hexadecimal.
    package func headers(
        method: String, host: String, path: String, query: [(name: String, value: String)], headers: [(name: String, value: String)], bodyHash: String,
        at instant: Instant
    ) -> [(name: String, value: String)] {
        let (day, time) = Self.stamp(instant)
        var signed = headers + [("host", host), ("x-amz-date", time)]
        if service == "s3" { signed.append(("x-amz-content-sha256", bodyHash)) }
        if let token = credentials.sessionToken { signed.append(("x-amz-security-token", token)) }
        signed.sort { $0.name < $1.name }

        let names = signed.map(\.name).joined(separator: ";")
        let request = [
            method, path, Self.queryText(query), signed.map { "\($0.name):\(Self.trimmed($0.value))\n" }.joined(), names, bodyHash,
        ].joined(separator: "\n")
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(ContentHash.of(request.utf8))"

        var key = Self.mac(Array(day.utf8), key: Array("AWS4\(credentials.secretKey)".utf8))
        for part in [region, service, "aws4_request"] { key = Self.mac(Array(part.utf8), key: key) }
        let signature = Hexadecimal.text(Self.mac(Array(text.utf8), key: key))
        return signed.filter { $0.name != "host" } + [
            ("authorization", "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)")
        ]
    }

    /// The query parameters in the order and encoding that the signature requires.
    package static func queryText(_ query: [(name: String, value: String)]) -> String {
        query.map { (BucketLocation.encode($0.name, sparingSlashes: false), BucketLocation.encode($0.value, sparingSlashes: false)) }
            .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// An instant as `YYYYMMDD` and `YYYYMMDDTHHMMSSZ`.
    static func stamp(_ instant: Instant) -> (day: String, time: String) {
        // RFC 3339 in UTC: YYYY-MM-DDTHH:MM:SS.mmmZ.
        let text = instant.description
        let day = text.prefix(10).filter { $0 != "-" }
        return (day, "\(day)T\(text.dropFirst(11).prefix(8).filter { $0 != ":" })Z")
    }

    private static func trimmed(_ value: String) -> String { value.exact.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") }

    private static func mac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}
