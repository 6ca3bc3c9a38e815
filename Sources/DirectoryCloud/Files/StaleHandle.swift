import CloudStore
import Platform

/// Retries after a stale handle (`ESTALE`): a network file system no longer knows an open file, because the server was restarted or another
/// machine removed the file.
///
/// Everything must then be opened by name again. Operations of a cloud may be repeated: a file that an earlier attempt placed is found there
/// with the same bytes.
enum StaleHandle {
    /// How often a body is run at most.
    static let attempts = 4

    /// Runs `body`, and runs it again if handles become stale. `body` must open everything that it needs by name.
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

    /// The same for a body that throws only ``CloudError``.
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
