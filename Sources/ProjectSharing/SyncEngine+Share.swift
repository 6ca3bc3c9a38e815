import CloudStore
public import Foundation
import LocalTables
public import SnapshotEngine
public import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

extension SyncEngine {
    /// Shares projects through the cloud in the database's settings, in the name of the database's device.
    ///
    /// - Parameters:
    ///   - device: another device name than that of the settings.
    ///   - zone: a zone of the public scope.
    public func sharing(device name: String? = nil, zone: String = ProjectSharing.standardZone) throws -> ProjectSharing {
        let settings = try context().settings
        return ProjectSharing(try SyncError.at(.open) { try openCloud(settings) }, device: name ?? settings.device, zone: zone, now: now)
    }

    /// Whether ``setUp(_:)`` has set the database up, so that its settings name a cloud.
    public func isSetUp() throws -> Bool {
        try database.read { try $0.settings.exists() }
    }
}

extension ProjectSharing {
    /// The default name of a device: the machine's name, adapted to be a valid file name.
    package static var machineName: String { DeviceName.machineName() }
}

extension ProjectDraft {
    /// Reads a project from a JSON file.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if there is no such file, `.dataRefused` if it does not describe a project.
    public init(file path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .read, at: path, "the project's file cannot be read", hint: "check the path given with --file")
        }
        try self.init(json: data, named: path)
    }

    /// Reads a project from JSON.
    ///
    /// - Parameter name: the name of the source in error messages.
    /// - Throws: ``SyncError`` with `.dataRefused`.
    public init(json data: Data, named name: String) throws {
        do {
            self = try StrictJSON.decode(ProjectDraft.self, from: data)
        } catch {
            throw SyncError(.dataRefused, step: .decode, at: name, DatasetFile.explain(error), hint: "docs/from-cloudkit.md describes a project's file")
        }
    }
}
