import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

extension SchemaUpdate {
    /// Takes over what all devices of the zone must agree on: the choice of the timestamp, the rules for edits by readers, and which columns change as one. The device that
    /// published last decides, whatever this device's dataset file says.
    func followChoices(_ changes: ZoneChanges) throws -> Outcome {
        var outcome = Outcome(device: device)
        let isFirst = try device.database.read(at: .read) { try $0.state.applied() == nil }
        var latest: [String: (record: CloudRecord, isOwn: Bool)] = [:]
        // A checkpoint does not contain a publisher's own unpublished choice, so a publisher ignores checkpoints.
        if isFirst || !device.settings.role.publishes {
            for record in changes.base where DatasetDescription.isRecord(record) { latest[record.name] = (record, false) }
        }
        for commit in changes.commits {
            for record in commit.saved where DatasetDescription.isRecord(record) { latest[record.name] = (record, commit.device == device.settings.device) }
        }
        for one in latest.values.sorted(by: { $0.record.name < $1.record.name }) where !one.isOwn {
            guard let zone = try? DatasetDescription(one.record, in: device.zone).schema,
                let schema = outcome.device.settings.datasets.first(where: { $0.name == zone.name }),
                let after = try? schema.following(zone), after != schema
            else { continue }
            try device.database.write(at: .open) { transaction in
                try transaction.transition.take(schema, as: after, publishes: device.settings.role.publishes)
                outcome.device.settings.replace(after)
                try transaction.settings.setDatasets(outcome.device.settings.datasets)
            }
            if !isFirst, after.messages != schema.messages { outcome.notices.append(after.messagesSentence) }
            if !isFirst, after.timestamp != schema.timestamp || after.timestampUnit != schema.timestampUnit {
                outcome.notices.append("\(after.timestampSentence), as the zone says")
            }
        }
        return outcome
    }
}

extension DatasetSchema {
    /// The same dataset with the zone's choices.
    fileprivate func following(_ zone: DatasetSchema) throws -> DatasetSchema {
        let isKnown = zone.timestamp.map { name in columns.contains { $0.name == name } } ?? true
        return try with {
            if isKnown { ($0.timestamp, $0.timestampUnit) = (zone.timestamp, zone.timestampUnit) }
            $0.messages = zone.messages.limited(to: columns)
            $0.setMerging(zone.merging.limited(to: columns))
        }
    }

    /// Which column says when a row was last changed, as a sentence.
    var timestampSentence: String {
        guard let timestamp else { return "\(name): no column says when a row was last changed; the device's clock counts" }
        return "\(name): the column \(timestamp)\(timestampUnit.map { " (\($0.rawValue))" } ?? "") says when a row was last changed"
    }

    /// The edits that readers may send, as a sentence.
    var messagesSentence: String {
        if messages.isEmpty { return "\(name): edits of readers are not taken any longer; what they change stays with them" }
        if messages.rows { return "\(name): readers may add, change and delete rows" }
        let columns = messages.patch.isEmpty ? [] : ["change \(messages.patch.joined(separator: ", "))"]
        return "\(name): readers may \((columns + (messages.delete ? ["delete rows"] : [])).joined(separator: " and "))"
    }
}
