package import StrictText

/// The keys of an object store's account. They must never be logged, stored or shown, so the description contains none of them.
package struct ObjectCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    package let accessKey: String
    package let secretKey: String
    /// The token of temporary credentials.
    package let sessionToken: String?
    /// When temporary credentials expire.
    package let expires: Instant?

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil, expires: Instant? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expires = expires
    }

    package var description: String { "credentials" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A source of ``ObjectCredentials``. The client asks again when they have expired.
package protocol CredentialsProvider: Sendable {
    /// The credentials; nil if this source has none.
    func credentials() throws -> ObjectCredentials?
    /// Drops credentials that the server no longer accepts. A source with fixed credentials can use the default.
    func forget()
}

extension CredentialsProvider {
    package func forget() {}
}
