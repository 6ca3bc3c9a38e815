import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

extension SchemaUpdate {
    /// Takes over what all devices of the zone must agree on: the choice of the timestamp, the rules for edits by readers, and which columns change as one. The device that
    /// published last decides, whatever this device's dataset file says.
    func followChoices(_ descriptions: [DatasetSchema], isFirst: Bool, _ outcome: inout Outcome) throws {
        for zone in descriptions {
            guard let schema = outcome.context.settings.datasets.first(where: { $0.name == zone.name }), let after = try? schema.following(zone),
                after != schema
            else { continue }
            try context.database.write { transaction in
                try transaction.transition.adopt(schema, as: after, publishes: context.settings.role.publishes, codec: .json)
                outcome.context.settings.replace(after)
                try transaction.settings.setDatasets(outcome.context.settings.datasets)
            }
            if !isFirst, after.messages != schema.messages { outcome.notices.append(after.messagesSentence) }
            if !isFirst, after.timestamp != schema.timestamp || after.timestampUnit != schema.timestampUnit {
                outcome.notices.append("\(after.timestampSentence), as the zone says")
            }
        }
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
    package var timestampSentence: String {
        guard let timestamp else { return "\(name): no column says when a row was last changed; the device's clock counts" }
        return "\(name): the column \(timestamp)\(timestampUnit.map { " (\($0.rawValue))" } ?? "") says when a row was last changed"
    }

    /// The edits that readers may send, as a sentence.
    package var messagesSentence: String {
        if messages.isEmpty { return "\(name): edits of readers are not taken any longer; what they change stays with them" }
        if messages.rows { return "\(name): readers may add, change and delete rows" }
        let columns = messages.patch.isEmpty ? [] : ["change \(messages.patch.joined(separator: ", "))"]
        return "\(name): readers may \((columns + (messages.delete ? ["delete rows"] : [])).joined(separator: " and "))"
    }
}
