import CloudStore
import Foundation
import LocalStore
import SnapshotVersions

/// The name that a database gets at `init`: the requested one, else the one that it had before `detach`, else a new one.
package struct DeviceName {
    let name: String
    /// The device that the database was in this zone before `detach`; nil for a copy of a detached database.
    let detached: DetachedDevice?
    /// Why an earlier name was not used again, for the report.
    let warnings: [String]

    /// - Parameter isStable: whether a repeated call for the same database on the same machine makes the same name, for example if `init` failed
    ///   before the end.
    init(_ request: SetupRequest, in zone: ZoneID, of cloud: CloudDatabase, _ identity: CloudIdentity, isStable: Bool = false) async throws {
        let remembered = DetachedDevice(besides: request.database)
        let own = remembered.flatMap { $0.isOf(database: request.database) ? $0 : nil }
        let isSameZone = own?.cloudUUID == identity.uuid && own?.zone == request.zone
        detached = isSameZone ? own : nil
        if let device = request.device {
            (name, warnings) = (device, [])
            return
        }
        if let own {
            let report = try await Self.report(of: own.device, in: zone, of: cloud)
            if report == nil || (isSameZone && own.isAuthor(of: report)) || request.takesOver {
                (name, warnings) = (own.device, [])
                return
            }
        }
        name = isStable ? Self.makeName(for: request, identity) : Self.makeName()
        warnings = remembered.map { [Self.loss(of: $0, isCopy: own == nil, isSameZone: isSameZone)] } ?? []
    }

    private static func loss(of remembered: DetachedDevice, isCopy: Bool, isSameZone: Bool) -> String {
        let way = "to be \(remembered.device) all the same: snapsync detach, then snapsync init --device \(remembered.device) --take-over"
        if isCopy {
            return "this file is a copy of the database that was the device \(remembered.device) before detach, so it has a name of its own; \(way)"
        }
        return isSameZone
            ? "another database has synced as \(remembered.device), which this one was before detach, so this one has another name; \(way)"
            : "this database was \(remembered.device) in another zone, and a device of that name is in this zone, so this one has another name"
    }

    /// Returns a device's report; nil if it has never reported, or the zone does not exist yet.
    private static func report(of device: String, in zone: ZoneID, of cloud: CloudDatabase) async throws -> DeviceReport? {
        do {
            return try await cloud.deviceReport(of: device, in: zone)
        } catch let error as CloudError where error.code == .zoneNotFound {
            return nil
        } catch {
            throw SyncError(error, step: .open)
        }
    }

    /// Returns the machine's name and eight digits that follow from the machine, the database's path and the zone.
    private static func makeName(for request: SetupRequest, _ identity: CloudIdentity) -> String {
        let machine = FileManager.default.contents(atPath: "/etc/machine-id").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let path = URL(fileURLWithPath: request.database).standardizedFileURL.path
        let digits = ContentHash.of(Array("\(machine)\n\(path)\n\(identity.uuid)\n\(request.zone)\n".utf8)).prefix(8)
        return Self.machineName() + "-" + digits
    }

    /// Returns the machine's name, reduced to characters for file names, and eight random digits, because a machine may have many databases.
    private static func makeName() -> String {
        Self.machineName() + "-" + String(UInt32.random(in: 0x1000_0000...UInt32.max), radix: 16)
    }

    /// Returns the machine's name, reduced to characters for file names.
    package static func machineName() -> String {
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        let host = String(ProcessInfo.processInfo.hostName.prefix { $0 != "." }.filter(allowed.contains).prefix(40))
        return host.isEmpty ? "device" : host
    }
}
