import CloudStore
import SnapshotModel
import SnapshotVersions

/// What the commits after the applied version did to each dataset, and how it can be followed.
struct CommitChain {
    /// How a dataset comes from the version that is here to the newest.
    enum Step {
        /// By each commit's change asset, oldest first.
        case changes(DatasetRecord, [CloudAsset])
        /// By the newest version whole: a commit changed the dataset in a way that only the whole tells, or the whole is less.
        case whole(CloudRecord)
    }

    /// By the dataset's name; datasets that no commit changed are not among them.
    let steps: [String: Step]

    /// Follows commits; nil where one of them deletes a dataset.
    init?(_ commits: [Commit], datasets: [DatasetSchema]) {
        var steps: [String: Step] = [:]
        for commit in commits {
            for schema in datasets {
                if commit.deleted.contains(schema.recordName) { return nil }
                guard let record = commit.saved.first(where: { $0.name == schema.recordName }) else { continue }
                steps[schema.name] = Self.step(record, of: commit, after: steps[schema.name], schema)
            }
        }
        self.steps = steps
    }

    /// Whether change assets are to be read.
    var hasChanges: Bool {
        steps.values.contains { step in
            if case .changes = step { true } else { false }
        }
    }

    /// Whether a dataset is read whole, so that each of its entities can be had, and not those alone that changed.
    func isWhole(_ dataset: String) -> Bool {
        if case .whole? = steps[dataset] { true } else { false }
    }

    private static func step(_ record: CloudRecord, of commit: Commit, after last: Step?, _ schema: DatasetSchema) -> Step {
        var files: [CloudAsset] = []
        switch last {
        case .whole: return .whole(record)
        case .changes(_, let before): files = before
        case nil: break
        }
        guard record.type == schema.recordType, let fields = DatasetRecord(record), let file = fields.step, AssetPath(file.path)?.number == commit.token.number
        else {
            return .whole(record)
        }
        files.append(file)
        let byteCount = files.reduce(0) { $0 + $1.byteCount }
        return byteCount <= max(fields.dataFile.byteCount / 2, 1 << 20) ? .changes(fields, files) : .whole(record)
    }
}
