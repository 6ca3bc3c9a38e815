import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import ProjectSharing
@testable import SnapshotVersions

@Suite struct SyncErrorTests {
    @Test(arguments: [
        (CloudError.Code.cloudUnavailable, SyncError.Code.cloudUnavailable), (.notACloud, .nothingThere), (.zoneNotFound, .nothingThere),
        (.unknownItem, .nothingThere), (.badContainer, .refused), (.incompatibleVersion, .refused), (.notAuthorized, .refused), (.clockUnusable, .refused),
        (.invalidArguments, .refused), (.changeTokenExpired, .refused), (.rolledBack, .dataRefused), (.damaged, .dataRefused),
        (.pending, .tryAgainLater), (.serverRecordChanged, .tryAgainLater), (.permissionFailure, .permissionDenied), (.quotaExceeded, .inputOutput),
        (.inputOutput, .inputOutput), (CloudError.Code(name: "of a later backend"), .inputOutput),
    ])
    func everyCodeOfTheCloudHasItsMeaning(code: CloudError.Code, expected: SyncError.Code) {
        let error = SyncError(CloudError(code, at: "commit 7", "it is so", hint: "do this"), step: .fetch)
        #expect(error.code == expected)
        #expect(error.description == "fetch failed: commit 7: it is so; hint: do this")
        #expect(error.isRetryable == (expected == .tryAgainLater))
    }

    @Test(arguments: [
        (SyncError.DatabaseFault.notFound, SyncError.Code.nothingThere), (.damaged, .dataRefused), (.badRow, .dataRefused), (.foreignKeyViolated, .dataRefused),
        (.busy, .tryAgainLater), (.running, .tryAgainLater), (.permissionDenied, .permissionDenied), (.notInitialized, .nothingThere),
        (.schemaMismatch, .refused), (.diskFull, .inputOutput), (.inputOutput, .inputOutput),
    ])
    func everyCodeOfTheDatabaseHasItsMeaning(code: SyncError.DatabaseFault, expected: SyncError.Code) {
        let error = SyncError(SyncError(database: code, at: "app.db", "it is so"), step: .apply)
        #expect(error.code == expected)
        let isOfOpening = [.notFound, .running, .notInitialized].contains(code)
        #expect(error.description == "\(isOfOpening ? "open" : "apply") failed: app.db: it is so")
    }

    @Test(arguments: [
        (SyncError.FormatFault.badRow, SyncError.Code.dataRefused), (.outOfOrder, .dataRefused), (.tooLarge, .dataRefused), (.truncated, .dataRefused),
        (.hashMismatch, .dataRefused), (.damaged, .dataRefused), (.badEntity, .dataRefused), (.notAContainer, .dataRefused),
        (.unsupportedVersion, .refused), (.misuse, .refused), (.keyUnavailable, .refused), (.compression, .inputOutput), (.outOfMemory, .tryAgainLater),
    ])
    func everyCodeOfTheFormatHasItsMeaning(code: SyncError.FormatFault, expected: SyncError.Code) {
        #expect(SyncError(format: code, at: "block 3", "it is so").code == expected)
    }

    @Test func whatFailedSaysTheStep() async throws {
        let scratch = try ScratchDirectory(), database = try LocalDatabase(path: scratch.path("app.db"), creating: true)
        let busy = SyncError(database: .busy, at: "app.db", "locked"), cloud = MemoryCloudDatabase(), none = ZoneID("none")
        func step(_ body: () async throws -> Void) async -> SyncStep? {
            do { try await body() } catch { return SyncError(error, step: .decode).step }
            return nil
        }
        #expect(await step { try database.read { _ in throw busy } } == .read)
        #expect(await step { try database.write { _ in throw busy } } == .apply)
        #expect(await step { _ = try LocalDatabase(path: scratch.path("none")) } == .open)
        #expect(await step { _ = try await cloud.zone(none) } == .open)
        #expect(await step { _ = try await cloud.records(in: none) } == .fetch)
        #expect(await step { _ = try await cloud.newAsset(for: "things", number: 1, kind: .changes, in: none) } == .store)
        #expect(await step { throw busy } == .decode)
    }

    @Test func aDescriptionThatCannotBeUsedIsTheConfigurationsFault() throws {
        let error = try #require(throws: SchemaError.self) { try DatasetSchema(name: "", table: "t", keys: ["k"], timestamp: nil, columns: []) }
        #expect(SyncError(error, step: .open).code == .refused)
        struct Stranger: Error {}
        #expect(SyncError(Stranger(), step: .open).code == .inputOutput)
    }

    /// An error keeps the identifier of its cause on its way up, so that people are told what it is, and not only that it is one.
    @Test(arguments: [
        (CloudError(.quotaExceeded, at: "cloud", "full") as any Error, "cloud.quotaExceeded", "No room left", false),
        (CloudError(.cloudUnavailable, at: "cloud", "gone"), "cloud.cloudUnavailable", "Not reachable", true),
        (CloudError(.serverRecordChanged, at: "commit 2", "taken"), "cloud.serverRecordChanged", "Changed elsewhere", true),
        (CloudError(.accountTemporarilyUnavailable, at: "zone", "not now"), "cloud.accountTemporarilyUnavailable", "Account not available", true),
        (CloudError(CloudError.Code(name: "later"), at: "zone", "new"), "cloud.internalError", "Unexpected error", false),
        (SyncError(database: .diskFull, at: "app.db", "full"), "database.diskFull", "Disk full", false),
        (SyncError(database: .busy, at: "app.db", "locked"), "database.busy", "Database in use", true),
        (SyncError(format: .hashMismatch, at: "block 3", "other bytes"), "cloud.damaged", "Damaged data", false),
        (SyncError(format: .badRow, at: "row 3", "no key"), "database.badRow", "Entry cannot be synced", false),
        (SyncError(format: .unsupportedVersion, at: "file", "newer"), "cloud.incompatibleVersion", "Update needed", false),
        (SyncError(format: .outOfMemory, at: "zlib", "no memory"), "sync.tryAgainLater", "Not yet", true),
        (CancellationError(), "cloud.operationCancelled", "Cancelled", false),
        (SyncError(.refused, at: "app.db", "a guard"), "sync.refused", "Sync stopped", false),
    ])
    func theCauseIsWhatPeopleAreTold(cause: any Error, identifier: String, title: String, isRetryable: Bool) {
        let error = SyncError(cause, step: .fetch), shown = PresentableError(error)
        #expect(error.identifier == identifier && shown.identifier == identifier)
        #expect(shown.title == title && shown.isRetryable == isRetryable && shown.details == error.description)
        #expect(shown.isCancellation == (cause is CancellationError))
    }

    @Test func aPartialFailureHasTheCodeAndTheWaitOfItsCause() throws {
        let slow = CloudError(.requestRateLimited, at: "b", "too many", isRetryable: true, retryAfter: .seconds(7))
        let error = SyncError(try #require(CloudError.partial(["b": slow, "c": CloudError(.batchRequestFailed, at: "c", "")], at: "zone")), step: .announce)
        #expect(error.code == .tryAgainLater && error.identifier == "cloud.requestRateLimited" && error.retryAfter == .seconds(7))
        #expect(PresentableError(error).retryAfter == .seconds(7))
    }

    @Test func errorsOfDescriptionsAndCommentsAreShownAsWhatTheyAre() throws {
        let schema = try #require(throws: SchemaError.self) { try DatasetSchema(name: "", table: "t", keys: ["k"], timestamp: nil, columns: []) }
        #expect(PresentableError(schema, in: .italian).title == "Descrizione non valida")
        #expect(SyncError(schema, step: .open).identifier == PresentableError(schema).identifier)
        let comment = CommentNotSent(text: "hello", name: "Anna", cause: CloudError(.notAuthenticated, at: "zone", "nobody"))
        #expect(PresentableError(comment).identifier == "cloud.notAuthenticated" && PresentableError(comment).details?.contains("hello") == false)
    }
}
