import CloudStore
import Foundation
import StrictText
import TestSupport
import Testing

struct ErrorTableTests {
    /// Apple's numbers, written out again.
    private static let apple: [String: Int] = [
        "internalError": 1, "partialFailure": 2, "networkUnavailable": 3, "networkFailure": 4, "badContainer": 5, "serviceUnavailable": 6,
        "requestRateLimited": 7, "missingEntitlement": 8, "notAuthenticated": 9, "permissionFailure": 10, "unknownItem": 11,
        "invalidArguments": 12, "resultsTruncated": 13, "serverRecordChanged": 14, "serverRejectedRequest": 15, "assetFileNotFound": 16,
        "assetFileModified": 17, "incompatibleVersion": 18, "constraintViolation": 19, "operationCancelled": 20, "changeTokenExpired": 21,
        "batchRequestFailed": 22, "zoneBusy": 23, "badDatabase": 24, "quotaExceeded": 25, "zoneNotFound": 26, "limitExceeded": 27,
        "userDeletedZone": 28, "tooManyParticipants": 29, "alreadyShared": 30, "referenceViolation": 31, "managedAccountRestricted": 32,
        "participantMayNeedVerification": 33, "serverResponseLost": 34, "assetNotAvailable": 35, "accountTemporarilyUnavailable": 36,
    ]

    private var project: URL {
        Repository.root
    }

    @Test func numbersAndNamesAreApples() {
        let cloud = ErrorTable.entries.filter { $0.number != nil }
        for entry in cloud { #expect(Self.apple[entry.name ?? ""] == entry.number, "\(entry.identifier)") }
        #expect(Set(cloud.compactMap(\.name)) == Set(Self.apple.keys))
        #expect(cloud.compactMap(\.number) == cloud.compactMap(\.number).sorted())
        #expect(Self.apple.values.sorted() == Array(1...36))
    }

    @Test func aNumberGivesTheRowOfItsOwnName() {
        for (name, number) in Self.apple { #expect(ErrorEntry(number: number)?.name == name) }
        #expect(ErrorEntry(number: 10)?.identifier == "cloud.permissionFailure" && ErrorEntry(number: 1)?.identifier == "cloud.internalError")
        #expect(ErrorEntry(number: 0) == nil && ErrorEntry(number: 37) == nil)
        #expect(ErrorTable.entries(for: "10").map(\.identifier) == ["cloud.permissionFailure", "cloud.notAuthorized", "cloud.keyUnavailable"])
        #expect(ErrorTable.entries(for: "assetNotAvailable").map(\.identifier) == ["cloud.pending"])
        #expect(ErrorTable.entries(for: "damaged").map(\.identifier) == ["cloud.damaged", "database.damaged"])
    }

    /// Every code in the source has a row of its own: a code added without one would be shown as something else.
    @Test(arguments: [
        ("cloud", "CloudStore/Values/CloudError.swift", 33), ("sync", "StrictText/SyncError.swift", 7),
        ("gate", "SnapshotEngine/Gate/GateDecision.swift", 10),
    ])
    func everyCodeHasARow(family: String, file: String, count: Int) throws {
        let source = try String(contentsOf: project.appending(path: "Sources/\(file)"), encoding: .utf8)
        let codes = source.matches(of: /Code\(name: "([A-Za-z]+)"\)/).map { String($0.1) }
        #expect(codes.count >= count)
        for code in codes { #expect(ErrorEntry(identifier: "\(family).\(code)")?.isRaisedHere == true, "\(family).\(code)") }
        let rows = ErrorTable.entries.filter { $0.identifier.hasPrefix("\(family).") && $0.isRaisedHere }.map(\.identifier)
        #expect(Set(rows) == Set(codes.map { "\(family).\($0)" }))
    }

    @Test func everyFaultOfADatabaseHasARow() {
        let rows = ErrorTable.entries.map(\.identifier).filter { $0.hasPrefix("database.") }
        #expect(Set(rows) == Set(SyncError.DatabaseFault.allCases.map { "database.\($0)" }))
    }

    @Test func identifiersAreUniqueAndUnknownCodesHaveNone() {
        let identifiers = ErrorTable.entries.map(\.identifier)
        #expect(Set(identifiers).count == identifiers.count)
        #expect(CloudError.Code(name: "fromALaterVersion").entry.name == "internalError")
        #expect(ErrorEntry(identifier: "cloud.fromALaterVersion") == nil)
    }

    @Test func everyRowSaysInBothLanguagesWhatToDo() {
        for entry in ErrorTable.entries {
            #expect(!entry.meaning.isEmpty)
            for language in ErrorLanguage.allCases {
                let text = entry.text(in: language)
                #expect(!text.title.isEmpty && text.title.count <= 36 && !text.title.hasSuffix("."), "\(entry.identifier): a few words")
                #expect(text.message.hasSuffix(".") && text.nextStep.hasSuffix("."), "\(entry.identifier): sentences")
                for part in [text.title, text.message, text.nextStep] { #expect(!part.contains("'"), "\(entry.identifier): ’ is the apostrophe") }
                for part in [text.title, text.message, text.nextStep, entry.meaning] { #expect(!part.contains("|")) }
                #expect(!text.nextStep.contains("snapsync"), "\(entry.identifier): the command's words are no application's")
            }
            #expect(entry.text(in: .english).message != entry.text(in: .italian).message, "\(entry.identifier)")
            #expect(entry.text(in: .english).nextStep != entry.text(in: .italian).nextStep, "\(entry.identifier)")
        }
    }

    @Test func theLanguageIsTheFirstThatThereAreTextsIn() {
        #expect(ErrorLanguage.preferred(of: ["de-DE", "it_CH", "en"]) == .italian)
        #expect(ErrorLanguage.preferred(of: ["IT"]) == .italian)
        #expect(ErrorLanguage.preferred(of: ["fr"]) == .english && ErrorLanguage.preferred(of: []) == .english)
    }
}
