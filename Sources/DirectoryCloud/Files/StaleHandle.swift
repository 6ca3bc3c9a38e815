import CloudStore
import CommitLog
import Platform

/// Handles that a network file system no longer knows (`ESTALE`): the server was restarted, or another machine removed the file.
///
/// What lies under the name decides, so whoever meets one opens everything by name again. Operations of a cloud may be repeated: a file
/// that an earlier attempt put in place is found there with the same bytes.
enum StaleHandle {
    /// How often a body is run at most.
    static let attempts = 4

    /// Runs `body`, which opens what it needs by name, again while handles go stale under it.
    static func reopening<T>(_ body: () throws -> T) throws -> T {
        for _ in 1..<attempts {
            do {
                return try body()
            } catch let error as CloudError where error.code == .serverResponseLost {
                continue
            }
        }
        return try body()
    }

    /// The same for a body whose errors are all of the cloud.
    static func reopening<T>(_ body: () throws(CloudError) -> T) throws(CloudError) -> T {
        for _ in 1..<attempts {
            do throws(CloudError) {
                return try body()
            } catch {
                guard error.code == .serverResponseLost else { throw error }
            }
        }
        return try body()
    }
}
