package import CloudStore
import Foundation
import StrictText

/// The location of a cloud in an object store: `s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME&addressing=path|virtual&ca=FILE&http=allow]`.
///
/// This text contains everything that a later run needs to find the bucket, and no secret. `init` stores it in the settings.
package struct BucketLocation: Hashable, Sendable, CustomStringConvertible {
    package static let scheme = "s3://"

    package let bucket: String
    /// The path of the cloud in the bucket, without leading or trailing slashes; empty if the cloud is at the bucket's root.
    package let prefix: String
    /// The server, as `https://host[:port]`; nil for AWS.
    package var endpoint: String?
    package var region: String?
    /// Whether the bucket's name is part of the URL's path instead of the host. nil uses the path if there is an endpoint or the name
    /// contains a dot.
    package var usesPath: Bool?
    /// A PEM file with the certificates to trust instead of the system's.
    package var certificates: String?
    /// Whether HTTP without TLS is allowed to hosts other than the local machine.
    package var allowsHTTP = false

    /// Whether a text names a bucket instead of a directory. `s3:BUCKET` does, too, and is then refused: it is a mistyped bucket and no directory.
    package static func isOne(_ text: String) -> Bool { text.exact.hasPrefix("s3:") || text.exact.hasPrefix("S3:") }

    /// Parses a location.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments` and the part that is not allowed.
    package init(_ text: String) throws(CloudError) {
        func refusal(_ reason: String, _ hint: String) -> CloudError { CloudError(.invalidArguments, at: "the location", reason, hint: hint) }
        guard text.exact.hasPrefix(Self.scheme) else {
            throw refusal("the location does not begin with s3://", "give s3://BUCKET/PREFIX; for a directory of that name, ./\(text)")
        }
        let halves = text.dropFirst(Self.scheme.count).exact.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = halves[0].exact.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = path[0]
        guard Self.isBucket(bucket) else {
            throw refusal("the bucket's name is not allowed", "a bucket's name is 3 to 63 of a-z 0-9 . - and begins and ends with a letter or digit")
        }
        let rest = path.count > 1 ? path[1] : ""
        prefix = rest.exact.hasSuffix("/") ? String(rest.dropLast()) : rest
        guard Self.isPrefix(prefix) else {
            throw refusal(
                "the prefix is not allowed", "use parts of A-Z a-z 0-9 _ - . that do not begin with a dot, with one slash between them; at most 512 bytes")
        }
        guard halves.count > 1 else { return }
        for pair in halves[1].exact.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.exact.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = parts[1].removingPercentEncoding, !value.isEmpty else {
                throw refusal("\(parts[0].debugDescription) in the location has no value", "write NAME=VALUE, with & between them")
            }
            switch parts[0] {
            case "endpoint": endpoint = value
            case "region": region = value
            case "addressing":
                guard ["path", "virtual"].contains(value) else { throw refusal("addressing is path or virtual", "leave it out to let the server decide") }
                usesPath = value == "path"
            case "ca": certificates = value
            case "http":
                guard value == "allow" else { throw refusal("http takes allow", "leave it out to refuse HTTP without TLS") }
                allowsHTTP = true
            default:
                throw refusal("\(parts[0].debugDescription) is not known in a location", "the names are endpoint, region, addressing, ca and http")
            }
        }
        try verifyServer()
    }

    /// Refuses a server or region that cannot be used.
    package func verifyServer() throws(CloudError) {
        func refusal(_ reason: String, _ hint: String) -> CloudError { CloudError(.invalidArguments, at: "--endpoint", reason, hint: hint) }
        if let region, !Self.isRegion(region) { throw refusal("the region's name is not allowed", "a region is 1 to 64 of a-z A-Z 0-9 - _") }
        guard let endpoint else { return }
        guard let url = URLComponents(string: endpoint), let scheme = url.scheme, ["http", "https"].contains(scheme), let host = url.encodedHost, !host.isEmpty,
            url.user == nil, url.password == nil, url.query == nil, url.fragment == nil, url.path.isEmpty || url.path == "/"
        else { throw refusal("the endpoint is not the URL of a server", "give https://HOST or https://HOST:PORT, without a path and without credentials") }
        guard scheme == "https" || allowsHTTP || Self.isLoopback(host) else {
            throw refusal(
                "the endpoint uses HTTP without TLS: whoever is on the way can read and change what is sent",
                "use https, or say --allow-http if the network is trusted")
        }
    }

    /// The server's scheme and authority, without a trailing slash.
    package var server: (scheme: String, authority: String) {
        let text = endpoint ?? "https://s3.\(signingRegion).amazonaws.com"
        let halves = text.exact.split(separator: "/", omittingEmptySubsequences: true)
        return (String(halves[0].dropLast()), halves.count > 1 ? halves[1] : "")
    }

    /// The region that requests are signed for.
    package var signingRegion: String { region ?? "us-east-1" }

    /// The host and path of a key; an empty key stands for the bucket.
    package func address(of key: String) -> (host: String, path: String) {
        let encoded = Self.encode(key, sparingSlashes: true)
        // A certificate for *.s3.amazonaws.com does not cover a name with a dot in it.
        let usesPath = usesPath ?? (endpoint != nil || bucket.exact.contains("."))
        return usesPath ? (server.authority, "/\(bucket)/\(encoded)") : ("\(bucket).\(server.authority)", "/\(encoded)")
    }

    /// The header value that names a file beneath the cloud as the source of a copy on the server.
    func copySource(of path: String) -> String { "/\(bucket)/\(Self.encode(key(path), sparingSlashes: true))" }

    /// The key of a file beneath the cloud.
    package func key(_ path: String) -> String { prefix.isEmpty ? path : "\(prefix)/\(path)" }

    /// The location as text that ``init(_:)`` reads back.
    package var description: String {
        var pairs: [String] = []
        if let endpoint { pairs.append("endpoint=\(endpoint)") }
        if let region { pairs.append("region=\(region)") }
        if let usesPath { pairs.append("addressing=\(usesPath ? "path" : "virtual")") }
        if let certificates { pairs.append("ca=\(Self.encode(certificates, sparingSlashes: true))") }
        if allowsHTTP { pairs.append("http=allow") }
        return Self.scheme + bucket + (prefix.isEmpty ? "" : "/\(prefix)") + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }

    /// Percent-encodes all but the unreserved characters (RFC 3986), as the signature requires.
    static func encode(_ text: String, sparingSlashes: Bool) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let isUnreserved = (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || "-._~".utf8.contains(byte)
            if isUnreserved || sparingSlashes && byte == UInt8(ascii: "/") {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    private static func isBucket(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (3...63).contains(bytes.count), let first = bytes.first, let last = bytes.last else { return false }
        func isWord(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 }
        return isWord(first) && isWord(last) && bytes.allSatisfy { isWord($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            && !text.exact.contains("..")
    }

    private static func isPrefix(_ text: String) -> Bool {
        text.isEmpty || text.utf8.count <= 512 && text.exact.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { CloudNames.isName($0) }
    }

    private static func isRegion(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || CloudNames.isName(String(Unicode.Scalar($0))) }
    }

    static func isLoopback(_ host: String) -> Bool {
        let host = host.folded.text.trimming("[]")
        return host == "localhost" || host == "::1"
            || host.exact.hasPrefix("127.") && host.exact.split(separator: ".").count == 4
                && host.exact.split(separator: ".").allSatisfy { UInt8($0) != nil }
    }
}
