@testable import CloudStore
import Foundation

/// Commits behind their seal: the input is the body, sealed here. The number is the one that the body says.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let sealed = ChecksummedDocument.seal(Data(bytes), named: CommitDocument.sealName)
    if let verified = try? VerifiedCommit(sealed, number: FuzzHistory.number(in: bytes), of: FuzzHistory.id) {
        let commit = verified.commit
        expect(commit.saved.allSatisfy { CloudNames.isName($0.name) }, "names of records are names")
        expect(commit.saved.flatMap(\.assets).allSatisfy { AssetPath($0.path) != nil }, "paths of assets are paths")
        // Whatever it says, the next one has a number, and what it saved makes a checkpoint that reads as the same.
        var log = ReplayedHistory(after: verified, of: FuzzHistory.id)
        expect((try? log.append(sealed)) == nil, "no commit follows itself")
        expect(log.nextNumber == commit.token.number + 1, "a refused commit changes nothing")
    }
    // And as the file itself, unsealed by us.
    _ = try? VerifiedCommit(Array(bytes), number: 1, of: FuzzHistory.id)
}
