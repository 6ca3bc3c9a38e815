import CloudStore
import CommitLog
import Platform
import StrictText

/// Creates zones and finds existing ones.
struct ZoneSetup {
    let root: CloudFolder
    let files: FileMaker

    /// Creates a zone and writes its marker last, or returns the existing zone.
    ///
    /// - Throws: ``CloudError`` with `.pending` if there is a history whose `zone.json` has not arrived.
    func create(_ zone: ZoneID, _ marker: ZoneMarker) throws -> ZoneInfo {
        if let folder = try root.folder(zone.description), let info = try ZoneMarker.read(zone, in: folder) {
            // The process that wrote the marker may have been killed before the name was durable.
            try folder.synchronizeIfPossible()
            return info
        }
        let folder = try files.folder(zone.name, in: try files.folder(zone.scope.rawValue, in: root))
        for name in [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.messages, CloudNames.devices] {
            _ = try files.folder(name, in: folder)
        }
        for name in [CloudNames.commits, CloudNames.checkpoints] {
            guard try folder.folder(name)?.names().contains(where: { CloudNames.number(ofFile: $0) != nil }) != true else {
                throw CloudError(
                    .pending, at: folder.place(ZoneMarker.fileName), "the zone has a history, but its zone.json is not there",
                    hint: "if a sync tool is bringing files, wait for it; else bring the file back from a copy", isRetryable: true)
            }
        }
        _ = try files.put(marker.bytes(), as: ZoneMarker.fileName, in: folder)
        guard let info = try ZoneMarker.read(zone, in: folder) else {
            throw CloudError(.inputOutput, at: folder.place(ZoneMarker.fileName), "the file vanished as soon as it was made", isRetryable: true)
        }
        return info
    }

    /// The existing zones, sorted by scope and name.
    func zones() throws -> [ZoneInfo] {
        var found: [ZoneInfo] = []
        for scope in CloudScope.allCases {
            guard let folder = try root.folder(scope.rawValue) else { continue }
            try folder.eachFolder { name, zone in
                if let info = try ZoneMarker.read(ZoneID(name, scope: scope), in: zone) { found.append(info) }
            }
        }
        return found
    }
}
