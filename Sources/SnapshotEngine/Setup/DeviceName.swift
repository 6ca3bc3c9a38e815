import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotVersions
import StrictText
import SyncRuns

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
        let way = "to be \(remembered.device) all the same: snapsync detach; then set it up as before, with --name \(remembered.device) --take-over"
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

/// A device's name, checked in the zone before a database takes it.
struct NameClaim {
    /// Whether this database takes over the reports and commits under the name.
    private let isTaken: Bool
    private let seen: String?
    private let newest: Int
    /// Whether the database had the name before `detach`, and no other database has synced under it since.
    let isReturning: Bool
    /// The nonce of the report with which this device requested membership before it was set up; nil if there is none.
    let requestNonce: String?

    /// Checks whether another database has reported under the name.
    ///
    /// - Parameters:
    ///   - detached: the device that the database was in this zone before `detach`, if any.
    ///   - keys: the device's keys in a signed zone. A report that they signed comes from this device.
    /// - Throws: ``SyncError`` with `.refused` if another database has reported, unless the name is to be taken over.
    init(_ name: String, in zone: ZoneID, of cloud: CloudDatabase, takesOver: Bool, detached: DetachedDevice?, keys: DevicePublicKeys? = nil) async throws {
        let report = try await cloud.deviceReport(of: name, in: zone)
        let isReturning = detached?.device == name && detached?.isAuthor(of: report) == true
        if let report, !takesOver, !isReturning, keys == nil || report.keys != keys || report.token != nil {
            throw SyncError(
                .refused, step: .open, at: zone.place, "a \(report.role) has synced as \(name) before, at \(report.clock), from another database",
                hint: "choose another name with --name; if that database is lost, was detached, or is this one made anew: --take-over")
        }
        self.isReturning = isReturning
        seen = report?.nonce
        requestNonce = keys != nil && report?.keys == keys && report?.token == nil ? report?.nonce : nil
        let newest = takesOver || isReturning ? try await cloud.records(in: zone).token?.number ?? 0 : 0
        self.newest = newest
        // Before the first version, only the device that made the zone may publish without importing.
        let isCreator = isReturning ? try await cloud.zone(zone).creator == name : false
        isTaken = takesOver || isReturning && (newest > 0 || isCreator)
    }

    /// Records how the database got its zone and its name, in the transaction that stores the settings.
    func record(madeZone: Bool, in transaction: LocalTransaction) throws {
        try transaction.state.bootstrapNote.set(BootstrapNote(madeZone: madeZone))
        if isTaken { try transaction.recordTakeOver(seen: seen, newest: newest) }
    }
}

extension DetachedDevice {
    /// Whether this device wrote a report in the zone. True if there is no report: no other device has synced under the name then.
    func isAuthor(of report: DeviceReport?) -> Bool {
        guard let report else { return true }
        return report.nonce.map { nonces?.include($0) == true } ?? false
    }
}
