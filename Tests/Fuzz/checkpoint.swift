@testable import CloudStore
import Foundation

/// Checkpoints behind their seal and the hash that a commit names: the input is the body, sealed and hashed here.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let sealed = ChecksummedDocument.seal(Data(bytes), named: CheckpointDocument.sealName)
    let reference = CheckpointReference(number: FuzzHistory.number(in: bytes), sha256: ContentHash.of(sealed))
    guard let log = try? ReplayedHistory(checkpoint: sealed, named: reference, of: FuzzHistory.id) else { return }
    expect(log.records.allSatisfy { CloudNames.isName($0.name) }, "names of records are names")
    let written = try? log.checkpointBytes()
    expect(written != nil, "a checkpoint that is taken can be written")
    guard let written else { return }
    let again = CheckpointReference(number: reference.number, sha256: ContentHash.of(written))
    expect(
        (try? ReplayedHistory(checkpoint: written, named: again, of: FuzzHistory.id))?.records == log.records,
        "a checkpoint that is written is read as the same")
}
