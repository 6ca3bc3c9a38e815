import Sealing
import StrictText

extension SyncError {
    /// Runs `body`, which opens or makes a box, and adds the place to its errors.
    static func opening<T>(_ place: @autoclosure () -> String, _ body: () throws(BoxError) -> T) throws -> T {
        do throws(BoxError) {
            return try body()
        } catch {
            switch error {
            case .unknownEpoch:
                throw SyncError(
                    format: .keyUnavailable, at: place(), "\(error)",
                    hint: "run snapsync sync; if the key is still missing then, have a member that publishes approve this device")
            case .damaged: throw SyncError(format: .damaged, at: place(), "\(error)", hint: "fetch it again; else have the writer run: snapsync export --full")
            case .cipher: throw SyncError(format: .compression, at: place(), "\(error)")
            }
        }
    }
}
