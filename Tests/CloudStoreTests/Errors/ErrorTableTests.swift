import CloudStore
import Foundation
import Testing

struct ErrorTableTests {
    /// Apple's numbers, written out again.
    private static let apple: [String: Int] = [
        "internalError": 1, "partialFailure": 2, "networkUnavailable": 3, "networkFailure": 4, "badContainer": 5, "serviceUnavailable": 6,
        "requestRateLimited": 7, "missingEntitlement": 8, "notAuthenticated": 9, "permissionFailure": 10, "unknownItem": 11,
        "invalidArguments": 12, "serverRecordChanged": 14, "serverRejectedRequest": 15, "assetFileNotFound": 16, "assetFileModified": 17,
        "incompatibleVersion": 18, "operationCancelled": 20, "changeTokenExpired": 21, "batchRequestFailed": 22, "zoneBusy": 23,
        "quotaExceeded": 25, "zoneNotFound": 26, "limitExceeded": 27, "userDeletedZone": 28, "referenceViolation": 31,
        "managedAccountRestricted": 32, "serverResponseLost": 34, "assetNotAvailable": 35, "accountTemporarilyUnavailable": 36,
    ]

    private var project: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    @Test func numbersAndNamesAreApples() {
        for entry in CloudErrorTable.entries { #expect(Self.apple[entry.name] == entry.number, "\(entry.name)") }
        #expect(Set(CloudErrorTable.entries.map(\.name)) == Set(Self.apple.keys))
        #expect(CloudErrorTable.entries.map(\.number) == CloudErrorTable.entries.map(\.number).sorted())
    }

    /// Every code in the source has a row of its own: a code added without one would be shown as `internalError`.
    @Test func everyCodeHasARow() throws {
        let source = try String(contentsOf: project.appending(path: "Sources/CloudStore/Errors/CloudError.swift"), encoding: .utf8)
        let codes = source.matches(of: /Code\(name: "([A-Za-z]+)"\)/).map { String($0.1) }
        #expect(codes.count > 25)
        for code in codes {
            let entry = CloudError.Code(name: code).entry
            #expect(entry.code.name == code && entry.isRaisedHere, "\(code)")
        }
        let names = CloudErrorTable.entries.map(\.code)
        #expect(Set(names).count == names.count)
        #expect(CloudError.Code(name: "fromALaterVersion").entry.name == "internalError")
    }

    @Test func everyRowSaysWhatToDo() {
        for entry in CloudErrorTable.entries {
            #expect(!entry.meaning.isEmpty && !entry.nextStep.isEmpty)
            #expect(entry.sentence.hasSuffix("."), "\(entry.name): a sentence for people")
            #expect(!entry.meaning.contains("|") && !entry.nextStep.contains("|"))
        }
    }

    @Test func theDocumentIsUpToDate() throws {
        let file = project.appending(path: "docs/errors.md")
        if ProcessInfo.processInfo.environment["SNAPSYNC_WRITE_DOCS"] == "1" {
            try Data(CloudErrorTable.markdown.utf8).write(to: file)
        }
        let found = try String(contentsOf: file, encoding: .utf8)
        #expect(found == CloudErrorTable.markdown, "docs/errors.md does not match the table; its head says how to make it again")
    }
}
