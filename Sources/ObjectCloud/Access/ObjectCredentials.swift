package import StrictText

/// The keys of an account of an object store. Never logged, stored or shown: the type has no description of its content.
package struct ObjectCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    package let accessKey: String
    package let secretKey: String
    /// The token of temporary credentials.
    package let sessionToken: String?
    /// When temporary credentials end.
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

/// A place from which ``ObjectCredentials`` come. Asked again when they have ended.
package protocol CredentialsProvider: Sendable {
    /// The credentials; nil if this place has none.
    func credentials() throws -> ObjectCredentials?
    /// Forgets credentials that the server no longer accepts. A place that always has the same ones leaves this to the default.
    func forget()
}

extension CredentialsProvider {
    package func forget() {}
}
