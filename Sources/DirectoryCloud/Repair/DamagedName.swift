import CloudStore
import CommitLog
import Platform

/// The name under which a damaged file is set aside: its own, `.damaged-` and 8 hexadecimal digits.
///
/// No reader knows such a name, and nobody removes it: what is in it may be all that is left of something.
enum DamagedName {
    static func make(_ name: String, _ nonces: NonceSource) -> String { "\(name).damaged-\(nonces.hex(8))" }

    /// The name that a file had before it was set aside; nil if the name is none that was made here.
    static func original(of name: String) -> String? {
        let stem = name.dropLast(8), mark = ".damaged-"
        guard name.utf8.count > 8 + mark.utf8.count, stem.hasSuffix(mark), CloudNames.isHex(name.utf8.suffix(8)) else { return nil }
        return String(stem.dropLast(mark.count))
    }
}

extension CloudFolder {
    /// Gives a file another name, which readers ignore; durable on return. nil if nothing has the name.
    ///
    /// A crash on the way leaves the file under its own name, under the other, or, where there is no rename without replacing,
    /// under both.
    func setAside(_ name: String, _ nonces: NonceSource) throws(CloudError) -> String? {
        let aside = DamagedName.make(name, nonces)
        return try rename(name, to: aside) ? aside : nil
    }

    /// Gives a file another name that nothing has; durable on return. False if nothing has the old name.
    @discardableResult
    func rename(_ name: String, to newName: String) throws(CloudError) -> Bool {
        do throws(SystemFault) {
            do throws(SystemFault) {
                try calls.renameWithoutReplacing(name, to: newName, in: descriptor.number)
            } catch {
                guard error.isUnsupported, !error.isAbsence else { throw error }
                try calls.link(name, as: newName, in: descriptor.number)
                try calls.synchronize(descriptor.number)
                try calls.unlink(name, in: descriptor.number)
            }
        } catch {
            guard !error.isAbsence else { return false }
            throw error.error(at: place(name))
        }
        try synchronize()
        return true
    }
}
