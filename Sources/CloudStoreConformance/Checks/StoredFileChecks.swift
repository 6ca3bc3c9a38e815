import CloudStore
import Foundation
import StrictText

extension ConformanceCheck {
    /// Assets and messages as files: delayed, damaged, and with wrong names.
    static let storedFiles: [ConformanceCheck] = [
        ConformanceCheck("anAssetThatHasNotArrivedIsPending", .files) { trial in
            try await trial.makeZone(.one)
            let asset = try await trial.asset(someBytes, index: someIndex)
            try await trial.publish([trial.item(asset)], after: nil)
            var indexWasThere = false
            try trial.damage(asset.indexPath) { bytes in
                indexWasThere = bytes != nil
                bytes = nil
            }
            try trial.expect(indexWasThere, "the index lies beside its asset")
            let reader = try await trial.open(asset)
            try await trial.expect(.pending, "an index that is not there") { _ = try reader.index() }
            try trial.damage(asset.path) { $0 = nil }
            let error = try await trial.expect(.pending, "an asset that is not there") { _ = try await trial.open(asset) }
            try trial.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ConformanceCheck("aCutAssetAndAFlippedIndexAreDamage", .files) { trial in
            try await trial.makeZone(.one)
            let asset = try await trial.asset(someBytes, index: someIndex)
            for bit in 0..<someIndex.count * 8 {
                try trial.damage(asset.indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
                let reader = try await trial.open(asset)
                try await trial.expect(.damaged, "bit \(bit) of the index") { _ = try reader.index() }
                try trial.damage(asset.indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
            }
            try trial.damage(asset.path) { _ = $0?.removeLast() }
            try await trial.expect(.damaged, "an asset that is too short") { _ = try await trial.open(asset) }
            try trial.damage(asset.path) { $0? += [0, 0] }
            try await trial.expect(.damaged, "an asset that is too long") { _ = try await trial.open(asset) }
        },
        ConformanceCheck("aCommitNeverNamesAnAssetThatIsCutOrGone", .files) { trial in
            try await trial.makeZone(.one)
            let asset = try await trial.asset(someBytes, index: someIndex)
            try trial.damage(asset.path) { _ = $0?.removeLast() }
            try await trial.expect(.unknownItem, "an asset that is too short") { try await trial.publish([trial.item(asset)], after: nil) }
            await trial.cloud.discard([asset], in: ConformanceContext.zone)
            try await trial.expect(.unknownItem, "a discarded asset") { try await trial.publish([trial.item(asset)], after: nil) }
        },
        ConformanceCheck("aDiscardedAssetTakesItsIndexAlong", .files) { trial in
            try await trial.makeZone(.one)
            let lost = try await trial.asset(someBytes, index: someIndex), kept = try await trial.asset(someBytes, index: someIndex)
            try await trial.publish([trial.item(kept)], after: nil)
            await trial.cloud.discard([lost, kept], in: ConformanceContext.zone)
            try await trial.expect(.pending, "the discarded asset") { _ = try await trial.open(lost) }
            try trial.expectNoFile(lost.indexPath, line: #line)
            try trial.expect(try await trial.content(of: kept) == someBytes, "the asset that a commit names")
            try trial.expect(try await trial.open(kept).index(), is: Data(someIndex), "its index")
        },
        ConformanceCheck("anyByteThatIsAnotherSetsAMessageAside", .files) { trial in
            try await trial.sendThree()
            let path = trial.messagePath(1)
            var size = 0
            try trial.damage(path) { size = $0?.count ?? 0 }
            try trial.expect(size > 200, "a message of \(size) bytes")
            for place in stride(from: 0, to: size, by: try trial.damageStride) {
                try trial.damage(path) { $0?[place] ^= 1 }
                try await trial.expectSetAside(nil, line: #line)
                try trial.damage(path) { $0?[place] ^= 1 }
            }
            try trial.expect(try await trial.mailbox.mailbox(MailboxRequest(), in: ConformanceContext.zone).messages.count, is: 3, "the messages")
            for length in stride(from: 0, to: size, by: try trial.damageStride) {
                var whole: [UInt8]?
                try trial.damage(path) {
                    whole = $0
                    $0 = $0.map { Array($0.prefix(length)) }
                }
                try await trial.expectSetAside("cut short or not a message", line: #line)
                try trial.damage(path) { $0 = whole }
            }
        },
        ConformanceCheck("aMessageUnderAnothersNameIsSetAside", .files) { trial in
            try await trial.sendThree()
            var bytes: [UInt8]?
            try trial.damage(trial.messagePath(1)) { bytes = $0 }
            try trial.damage(trial.messagePath(7)) { $0 = bytes }
            try await trial.expectSetAside("another id than its name", readable: [0, 1, 2], line: #line)
            try trial.damage(trial.messagePath(7)) { $0 = nil }
            try trial.damage("messages/reader/note.txt") { $0 = bytes }
            try await trial.expectSetAside("its name is not 32 hexadecimal digits and .json", readable: [0, 1, 2], line: #line)
            try trial.damage("messages/reader/note.txt") { $0 = nil }
            try trial.damage("messages/reader/.\(trial.messageID(1)).json.tmp") { $0 = bytes }
            let mailbox = try await trial.mailbox.mailbox(MailboxRequest(), in: ConformanceContext.zone)
            try trial.expect(mailbox.messages.count == 3 && mailbox.setAside.isEmpty, "a temporary file counts as a message: \(mailbox)")
        },
        ConformanceCheck("ofManyForeignFilesSomeAreListed", .files) { trial in
            try await trial.sendThree()
            for number in 0..<120 { try trial.damage("messages/reader/junk \(number)") { $0 = [1] } }
            let mailbox = try await trial.mailbox.mailbox(MailboxRequest(), in: ConformanceContext.zone)
            try trial.expect(mailbox.messages.count, is: 3, "the messages")
            try trial.expect(mailbox.setAside.count, is: CloudMailbox.setAsideLimit, "the files set aside")
        },
    ]
}

extension CloudAsset {
    /// The path of the asset's index, computed here again so that the check does not rely on the code's own names.
    fileprivate var indexPath: String { path.replacingOccurrences(of: ".json.gz", with: ".index.json") }
}

extension ConformanceContext {
    fileprivate func messageID(_ number: Int) -> String { String(repeating: "0", count: 31) + String(number, radix: 16) }

    fileprivate func messagePath(_ number: Int) -> String { "messages/reader/\(messageID(number)).json" }

    /// Creates the zone and sends messages 0 to 2.
    fileprivate func sendThree() async throws {
        try await makeZone(.one)
        for number in 0..<3 {
            let message = CloudMessage(id: messageID(number), sender: "reader", body: Data(#"{"n":\#(number)}"#.utf8))
            try await mailbox.send(message, clock: .now, in: ConformanceContext.zone)
        }
    }

    /// Expects one message to be set aside, for a reason that contains a text, and the others to be read.
    fileprivate func expectSetAside(_ reason: String?, readable: [Int] = [0, 2], line: Int) async throws {
        let found = try await mailbox.mailbox(MailboxRequest(), in: ConformanceContext.zone)
        try expect(found.messages.map(\.id), is: readable.map(messageID), "the messages that can be read", line: line)
        try expect(found.setAside.count, is: 1, "the messages set aside", line: line)
        if let reason { try expect(found.setAside.allSatisfy { $0.reason.contains(reason) }, "the reason: \(found.setAside)", line: line) }
    }
}
