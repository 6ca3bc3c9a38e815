package import CloudStore
package import Platform

extension SystemFault {
    /// The error to report at `place`, a path relative to the cloud.
    package func error(at place: String) -> CloudError {
        if isOutOfSpace {
            CloudError(.quotaExceeded, at: place, "\(call): \(words)", hint: "make room, then try again; nothing was published")
        } else if isForbidden {
            CloudError(.permissionFailure, at: place, "\(call): \(words)", hint: "give this user the right to read and write the cloud directory")
        } else if isStale {
            CloudError(
                .serverResponseLost, at: place, "\(call): \(words)", hint: "try again; if it stays so, mount the cloud directory anew", isRetryable: true)
        } else if isWrongKind {
            CloudError(
                .damaged, at: place, "something else than a plain file or directory stands there (\(words))",
                hint: "take it away; snapsync makes no links and follows none")
        } else {
            CloudError(.inputOutput, at: place, "\(call): \(words)", hint: "check the disk or the mount, then try again", isRetryable: true)
        }
    }
}
