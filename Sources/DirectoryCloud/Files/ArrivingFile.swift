import CloudStore
import Foundation
import Platform
package import StrictText

/// Distinguishes a file that a sync tool is still writing from a damaged one.
///
/// Most tools write a temporary file and rename it. Some write in place (`rsync --inplace`, `cp` over SMB or sshfs), and then a reader sees
/// the beginning of a file. Such a file is *still arriving* while its last write is recent or the file is seen to grow; the reader tries
/// again later. After ``limitSeconds`` without a write it counts as damaged: somebody must look after a transfer that stopped half way.
package enum ArrivingFile {
    /// How many seconds after its last write the beginning of a file counts as arriving.
    package static let limitSeconds = 600

    /// How long an old file is watched for growth; its time may be wrong if the clocks differ.
    private static let lookSeconds = 0.1

    /// Whether a file was written recently. A time in the future counts like one in the past, since either clock may be wrong.
    package static func isYoung(_ modified: Instant, now: Instant) -> Bool {
        abs(now.microseconds - modified.microseconds) < Int64(limitSeconds) * 1_000_000
    }

    /// The error for the beginning of a file that is still arriving; nil if the file is damaged.
    ///
    /// - Parameters:
    ///   - status: the file's status when its bytes were found to be too short.
    ///   - wanted: the size that the commit states, in bytes; nil if it is unknown.
    static func error(_ name: String, _ status: FileStatus, wanted: Int?, in folder: CloudFolder) -> CloudError? {
        guard isYoung(status.modified, now: .now) || isGrowing(name, status, in: folder) else { return nil }
        let size = wanted.map { "\(status.byteCount) of \($0) bytes are there" } ?? "its \(status.byteCount) bytes are a beginning"
        var error = CloudError(
            .pending, at: folder.place(name), "the file is still arriving: \(size)",
            hint: "wait for the sync tool, then try again; \(limitSeconds / 60) minutes after its last write the file counts as damaged", isRetryable: true)
        error.isArriving = true
        return error
    }

    /// The error that replaces `.damaged` if a control document has not completely arrived; nil if it is really damaged.
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

    /// Whether the bytes are the beginning of a JSON object without its end.
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
        let parts = path.exact.split(separator: "/", omittingEmptySubsequences: false)
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
