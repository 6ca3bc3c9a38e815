import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import Testing

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
        (LocalStoreError.Code.notFound, SyncError.Code.nothingThere), (.damaged, .dataRefused), (.badRow, .dataRefused), (.foreignKeyViolated, .dataRefused),
        (.busy, .tryAgainLater), (.running, .tryAgainLater), (.permissionDenied, .permissionDenied), (.notInitialized, .refused),
        (.schemaMismatch, .refused), (.diskFull, .inputOutput), (.inputOutput, .inputOutput), (LocalStoreError.Code(name: "new"), .inputOutput),
    ])
    func everyCodeOfTheDatabaseHasItsMeaning(code: LocalStoreError.Code, expected: SyncError.Code) {
        let error = SyncError(LocalStoreError(code, at: "app.db", "it is so"), step: .apply)
        #expect(error.code == expected)
        #expect(error.description == "apply failed: app.db: it is so")
        #expect(error.hint == nil)
    }

    @Test(arguments: [
        (FormatError.Code.badRow, SyncError.Code.dataRefused), (.outOfOrder, .dataRefused), (.tooLarge, .dataRefused), (.truncated, .dataRefused),
        (.hashMismatch, .dataRefused), (.damaged, .dataRefused), (.badEntity, .dataRefused), (.notAContainer, .dataRefused),
        (.unsupportedVersion, .refused), (.misuse, .refused), (FormatError.Code(name: "new"), .dataRefused),
    ])
    func everyCodeOfTheFormatHasItsMeaning(code: FormatError.Code, expected: SyncError.Code) {
        #expect(SyncError(FormatError(code, at: "block 3", "it is so"), step: .decode).code == expected)
    }

    @Test func wantOfMemoryIsToBeTriedAgain() {
        #expect(SyncError(FormatError(.compression, at: "zlib", "no memory", isRetryable: true), step: .compress).isRetryable)
        #expect(SyncError(FormatError(.compression, at: "zlib", "no memory"), step: .compress).code == .inputOutput)
    }

    @Test func theFirstStepThatAnErrorCameFromStands() {
        let first = SyncError(LocalStoreError(.busy, at: "app.db", "locked"), step: .read)
        let second = SyncError(first, step: .store)
        #expect(second.step == .read)
        #expect(second.description == first.description)
    }

    @Test func aDescriptionThatCannotBeUsedIsTheConfigurationsFault() throws {
        let error = try #require(throws: SchemaError.self) { try DatasetSchema(name: "", table: "t", key: "k", timestamp: nil, columns: []) }
        #expect(SyncError(error, step: .open).code == .refused)
        struct Stranger: Error {}
        #expect(SyncError(Stranger(), step: .open).code == .inputOutput)
    }
}
