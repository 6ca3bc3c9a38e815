package import CloudStore
package import LocalStore

extension AppliedVersion {
    package init(_ token: ChangeToken) { self.init(number: token.number, hash: token.hash) }

    /// The version as the cloud names it.
    package var token: ChangeToken { ChangeToken(number: number, hash: hash) }
}
