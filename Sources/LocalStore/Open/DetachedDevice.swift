import Foundation
import Platform
import StrictText

/// Which device a database was before `detach`: the file `FILE.snapsync-device` beside it, which the next `init` reads and removes.
///
/// It is kept outside of the database because a detached database has nothing of the toolkit's left. The file names the database by the number that the
/// file system gives it, so a copy of both files is not taken for the device.
package struct DetachedDevice: Hashable, Sendable, Codable {
    /// The UUID of the cloud that the database belonged to.
    package let cloudUUID: String
    package let zone: String
    /// The device's name in the zone.
    package let device: String
    /// The nonces under which the device may have reported to the zone; nil if it never has.
    package let nonces: ReportNonces?
    /// The number of the database's file (its inode).
    let fileNumber: UInt64

    /// Describes the device of a database that is about to be detached.
    package init(_ settings: SyncSettings, nonces: ReportNonces?, database: String) throws {
        guard let times = FileTimes(ofFile: database) else {
            throw LocalStoreError(.notFound, at: database, "there is no such database", hint: "check the path given with --db")
        }
        (cloudUUID, zone, device) = (settings.cloudUUID, settings.zone, settings.device)
        self.nonces = nonces
        fileNumber = times.fileNumber
    }

    /// Whether this is what the database's own `detach` wrote: false beside a copy of that database.
    package func isOf(database: String) -> Bool { FileTimes(ofFile: database)?.fileNumber == fileNumber }

    /// The file beside a database, or beside the file that a link to it names.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-device" }

    /// Reads the file of a database; nil if there is none, or if it cannot be understood.
    package init?(besides database: String) {
        guard let data = FileManager.default.contents(atPath: Self.path(for: database)), let value = try? StrictJSON.decodeAny(Self.self, from: data) else {
            return nil
        }
        self = value
    }

    /// Writes the file beside a database.
    ///
    /// - Throws: ``LocalStoreError`` with `.permissionDenied` or `.inputOutput`; nothing is left beside the database then.
    package func write(besides database: String) throws {
        let path = Self.path(for: database), temporary = path + "-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        do {
            _ = try StrictJSON.encodeAny(self).withUnsafeBytes {
                try FileReplacement.replace(path, by: $0, through: temporary, mode: 0o600, like: database)
            }
        } catch let fault as SystemFault {
            throw LocalStoreError(
                fault.isForbidden ? .permissionDenied : .inputOutput, at: path, "the device's name cannot be kept: \(fault.words)",
                hint: "check that the database's folder can be written and has room, then run the same command again")
        }
    }

    /// Removes the file of a database.
    package static func remove(besides database: String) { System.unlink(path(for: database)) }
}
