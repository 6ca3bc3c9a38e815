import SnapshotEngine
import StrictText

/// Where others than the zone's devices can read the files of a cloud: in a bucket, or in the copies of a folder that a tool replicates.
struct StoreReaders: Sendable {
    /// Where they can, as the end of a sentence.
    let place: String
    /// What they read there.
    let what: String

    /// Returns nil if nothing indicates that others can read the files.
    ///
    /// - Parameters:
    ///   - tool: the name of the tool that replicates the directory, if one was found.
    ///   - isSaidReplicated: whether the user said at `init` that a tool replicates the directory.
    init?(isBucket: Bool, tool: String?, isSaidReplicated: Bool) {
        if isBucket {
            (place, what) = ("its cloud is a bucket", "the bucket")
        } else if tool != nil || isSaidReplicated {
            (place, what) = ("\(tool ?? "a tool") replicates its folder", "a copy of the folder")
        } else {
            return nil
        }
    }

    /// The readers of a cloud that the settings name.
    init?(cloud: String, isSaidReplicated: Bool) {
        let isBucket = CloudLocation.isBucket(cloud)
        // A backend that an application passes has a name, not a path.
        self.init(
            isBucket: isBucket, tool: !isBucket && cloud.exact.hasPrefix("/") ? ReplicatedFolder.tool(of: cloud)?.name : nil, isSaidReplicated: isSaidReplicated
        )
    }
}
