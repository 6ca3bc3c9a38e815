import Foundation
import Platform
import StrictText

/// The device that a database was before `detach`: the file `FILE.snapsync-device` beside it, which the next `init` reads and removes.
///
/// It is stored outside of the database because `detach` leaves nothing of the toolkit's in it. The file names the database by its inode, so a
/// copy of both files does not count as the same device.
package struct DetachedDevice: Hashable, Sendable, Codable {
    /// The UUID of the cloud that the database belonged to.
    package let cloudUUID: String
    package let zone: String
    /// The device's name in the zone.
    package let device: String
    /// The nonces that the device's reports in the zone may carry; nil if it never reported.
    package let nonces: ReportNonces?
    /// The inode of the database's file.
    let fileNumber: UInt64

    /// Describes the device of a database that is about to be detached.
    package init(_ settings: SyncSettings, nonces: ReportNonces?, database: String) throws {
        guard let file = FileTimes(ofFile: database) else {
            throw LocalStoreError(.notFound, at: database, "there is no such database", hint: "check the path given with --db")
        }
        (cloudUUID, zone, device) = (settings.cloudUUID, settings.zone, settings.device)
        self.nonces = nonces
        fileNumber = file.fileNumber
    }

    /// Whether `detach` of this very database wrote the file. False beside a copy of the database.
    package func isOf(database: String) -> Bool { FileTimes(ofFile: database)?.fileNumber == fileNumber }

    /// The file beside a database. If `database` is a link, it is beside the link's target.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-device" }

    /// Reads the file of a database; nil if there is none, or if it cannot be read.
    package init?(besides database: String) {
        guard let data = FileManager.default.contents(atPath: Self.path(for: database)), let value = try? StrictJSON.decode(Self.self, from: data) else {
            return nil
        }
        self = value
    }

    /// Writes the file beside a database.
    ///
    /// - Throws: ``LocalStoreError`` with `.permissionDenied` or `.inputOutput`; no file is left behind then.
    package func write(besides database: String) throws {
        let path = Self.path(for: database), temporary = path + "-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        do {
            _ = try StrictJSON.encode(self).withUnsafeBytes {
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
