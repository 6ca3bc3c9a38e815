import CloudStore
import Platform
import StrictText

/// The name of a damaged file that was set aside: its own name, `.damaged-` and 8 hexadecimal digits.
///
/// Readers ignore such a name, and the file is never removed automatically: it may contain the last copy of some data.
enum DamagedName {
    static func make(_ name: String, _ nonces: NonceSource) -> String { "\(name).damaged-\(nonces.hex(8))" }

    /// The file's name before it was set aside; nil for any other name.
    static func original(of name: String) -> String? {
        let stem = name.dropLast(8), mark = ".damaged-"
        guard name.utf8.count > 8 + mark.utf8.count, stem.exact.hasSuffix(mark), CloudNames.isHex(name.utf8.suffix(8)) else { return nil }
        return String(stem.dropLast(mark.count))
    }
}

extension CloudFolder {
    /// Renames a file so that readers ignore it; durable on return. nil if the file does not exist.
    ///
    /// After a crash the file has its old name or its new one. It has both if the file system cannot rename without replacing.
    func setAside(_ name: String, _ nonces: NonceSource) throws(CloudError) -> String? {
        let aside = DamagedName.make(name, nonces)
        do throws(SystemFault) {
            do throws(SystemFault) {
                try calls.renameWithoutReplacing(name, to: aside, in: descriptor.number)
            } catch {
                guard error.isUnsupported, !error.isAbsence else { throw error }
                try calls.link(name, as: aside, in: descriptor.number)
                try calls.synchronize(descriptor.number)
                try calls.unlink(name, in: descriptor.number)
            }
        } catch {
            guard !error.isAbsence else { return nil }
            throw error.error(at: place(name))
        }
        try synchronize()
        return aside
    }
}
