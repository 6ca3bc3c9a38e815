import CloudStore
import Platform

/// A zone of an open directory, and its folder, for examination and repair.
struct ZoneFolder {
    let zone: Zone
    let folder: CloudFolder
    let files: FileMaker
    var history: HistoryID { zone.history }

    /// - Throws: ``CloudError`` with `.zoneNotFound` if the zone has no folder.
    init(_ zone: Zone) throws(CloudError) {
        guard let store = zone.store as? DirectoryStore, let folder = try store.directory().folder("\(zone.history.zone)") else {
            throw CloudError(.zoneNotFound, at: "\(zone.history.zone)", "there is no folder of this zone")
        }
        (self.zone, self.folder, files) = (zone, folder, store.files)
    }

    /// Returns a directory of the zone, and creates it again if a sync tool left it out.
    func subfolder(_ name: String) throws(CloudError) -> CloudFolder {
        if let found = try folder.folder(name) { return found }
        return try files.folder(name, in: folder)
    }
}
