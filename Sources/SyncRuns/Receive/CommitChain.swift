import CloudStore
import SnapshotModel
import SnapshotVersions

/// What the commits after the applied version did to each dataset, and how an import can follow them.
struct CommitChain {
    /// How an import brings a dataset from the applied version to the newest.
    enum Step {
        /// Apply each commit's change asset, oldest first.
        case changes(DatasetRecord, [(file: CloudAsset, after: CloudAsset?)])
        /// Read the newest version whole: a commit has no change asset for the dataset, or the change assets are larger than reading the whole.
        case whole(CloudRecord)
    }

    /// The steps by dataset name. Datasets that no commit changed have none.
    let steps: [String: Step]

    /// Follows the commits; nil if one of them deletes a dataset.
    ///
    /// - Parameter known: the records of the applied version, by dataset name; those that are known.
    init?(_ commits: [Commit], datasets: [DatasetSchema], known: [String: DatasetRecord]) {
        var steps: [String: Step] = [:]
        for commit in commits {
            for schema in datasets {
                if commit.deleted.contains(schema.recordName) { return nil }
                guard let record = commit.saved.first(where: { $0.name == schema.recordName }) else { continue }
                steps[schema.name] = Self.step(record, of: commit, after: steps[schema.name], known: known[schema.name], schema: schema)
            }
        }
        self.steps = steps
    }

    /// Whether the import reads any change assets.
    var hasChanges: Bool {
        steps.values.contains { step in
            if case .changes = step { true } else { false }
        }
    }

    /// Whether the import reads a dataset whole, so that it can look up entities that did not change.
    func isWhole(_ dataset: String) -> Bool {
        if case .whole? = steps[dataset] { true } else { false }
    }

    private static func step(_ record: CloudRecord, of commit: Commit, after last: Step?, known: DatasetRecord?, schema: DatasetSchema) -> Step {
        var files: [(file: CloudAsset, after: CloudAsset?)] = [], end: CloudAsset?
        switch last {
        case .whole: return .whole(record)
        case .changes(let fields, let before): (files, end) = (before, fields.end)
        case nil: end = known?.end
        }
        guard record.type == schema.recordType, let fields = DatasetRecord(record), let file = fields.step, AssetPath(file.path)?.number == commit.token.number
        else {
            return .whole(record)
        }
        files.append((file, fields.chain.last?.after ?? end))
        let byteCount = files.reduce(0) { $0 + $1.file.byteCount }
        return byteCount <= max(fields.dataFile.byteCount / 2, 1 << 20) ? .changes(fields, files) : .whole(record)
    }
}
