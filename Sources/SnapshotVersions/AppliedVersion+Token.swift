package import CloudStore
package import LocalStore

extension AppliedVersion {
    package init(_ token: ChangeToken) { self.init(number: token.number, hash: token.hash) }

    /// The change token of this version: its number and hash.
    package var token: ChangeToken { ChangeToken(number: number, hash: hash) }
}
