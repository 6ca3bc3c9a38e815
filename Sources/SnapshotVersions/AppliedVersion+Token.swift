import CloudStore
import LocalStore

extension AppliedVersion {
    init(_ token: ChangeToken) { self.init(number: token.number, hash: token.hash) }

    /// The version as the cloud names it.
    var token: ChangeToken { ChangeToken(number: number, hash: hash) }
}
