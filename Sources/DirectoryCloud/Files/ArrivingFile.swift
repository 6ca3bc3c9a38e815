import CloudStore
import CommitLog
import Foundation
import Platform
package import StrictText

/// Tells a file that a transport is still writing from one that is damaged.
///
/// Most tools that move files write a temporary file and rename it; some write in place (`rsync --inplace`, `cp` over SMB or sshfs), and
/// then a reader meets a beginning of a file. Such a file is *still arriving*, and whoever needs it tries again later, while its last
/// write is young or it is seen to grow. After ``limitSeconds`` without a write it is damaged: a transfer that ended half way needs
/// somebody's attention.
package enum ArrivingFile {
    /// How long after its last write a beginning of a file counts as arriving.
    package static let limitSeconds = 600

    /// How long the file is watched for growth where the clocks say that it is old.
    private static let lookSeconds = 0.1

    /// Whether a file's last write is young. A time in the future counts as far as one in the past: either clock may be wrong.
    package static func isYoung(_ modified: Instant, now: Instant) -> Bool {
        abs(now.microseconds - modified.microseconds) < Int64(limitSeconds) * 1_000_000
    }

    /// The error for a beginning of a file, if it is still arriving; nil if it is damaged.
    ///
    /// - Parameters:
    ///   - status: what the file was when its bytes were found too short.
    ///   - wanted: the size that a commit says, in bytes; nil where none is known.
    static func error(_ name: String, _ status: FileStatus, wanted: Int?, in folder: CloudFolder) -> CloudError? {
        guard isYoung(status.modified, now: .now) || isGrowing(name, status, in: folder) else { return nil }
        let size = wanted.map { "\(status.byteCount) of \($0) bytes are there" } ?? "its \(status.byteCount) bytes are a beginning"
        var error = CloudError(
            .pending, at: folder.place(name), "the file is still arriving: \(size)",
            hint: "wait for the sync tool, then try again; \(limitSeconds / 60) minutes after its last write the file counts as damaged", isRetryable: true)
        error.isArriving = true
        return error
    }

    /// The better error where a control document is damaged because it has not arrived whole; nil where that is not so.
    ///
    /// - Parameter damage: an error whose place is the document's path beneath `root`.
    static func error(insteadOf damage: CloudError, in root: CloudFolder) -> CloudError? {
        guard damage.code == .damaged, let limit = byteLimit(ofDocument: damage.place), let (descriptor, status) = try? root.file(damage.place),
            status.byteCount <= limit
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: status.byteCount)
        // SAFETY: the buffer is used only within the closure.
        let read = try? bytes.withUnsafeMutableBytes { buffer throws(SystemFault) in try root.calls.readAll(descriptor.number, into: buffer, at: 0) }
        guard read == bytes.count, isBeginning(bytes) else { return nil }
        return error(damage.place, status, wanted: nil, in: root)
    }

    /// Whether bytes are those of a JSON object that ends before its end.
    static func isBeginning(_ bytes: [UInt8]) -> Bool {
        guard bytes.first ?? UInt8(ascii: "{") == UInt8(ascii: "{") else { return false }
        var depth = 0, isText = false, isEscaped = false
        for byte in bytes {
            if isText {
                if isEscaped { isEscaped = false } else if byte == UInt8(ascii: "\\") { isEscaped = true } else if byte == UInt8(ascii: "\"") { isText = false }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            if depth == 0 { return false }
        }
        return true
    }

    /// The largest size of `cloud.json`, a `zone.json`, a commit or a checkpoint, in bytes; nil for any other path.
    private static func byteLimit(ofDocument path: String) -> Int? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (parts.count, parts.last) {
        case (1, CloudMarker.fileName), (3, ZoneMarker.fileName): return CloudMarker.byteLimit
        case (4, let name?) where CloudNames.number(ofFile: name) != nil:
            return parts[2] == CloudNames.commits ? CommitDocument.byteLimit : parts[2] == CloudNames.checkpoints ? CheckpointDocument.byteLimit : nil
        default: return nil
        }
    }

    private static func isGrowing(_ name: String, _ status: FileStatus, in folder: CloudFolder) -> Bool {
        Thread.sleep(forTimeInterval: lookSeconds)
        guard let later = try? folder.file(name)?.status else { return false }
        return later.byteCount > status.byteCount || later.modified != status.modified
    }
}
