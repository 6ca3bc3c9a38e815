import Foundation
@testable import CloudStore

/// Commits behind their seal: the input is the body, sealed here. The number is the one that the body says.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let sealed = SealedDocument.seal(Data(bytes), named: CommitDocument.sealName)
    for number in [FuzzHistory.number(in: bytes), 1] {
        guard let commit = try? VerifiedCommit(sealed, number: number, of: FuzzHistory.id) else { continue }
        expect(commit.commit.saved.allSatisfy { CloudNames.isName($0.name) }, "names of records are names")
        expect(commit.commit.saved.flatMap(\.assets).allSatisfy { AssetPath($0.path) != nil }, "paths of assets are paths")
    }
    // And as the file itself, unsealed by us.
    _ = try? VerifiedCommit(Array(bytes), number: 1, of: FuzzHistory.id)
}
