/// All codes that matter at a cloud, with CKError's numbers and names: the one source of what the library says about errors,
/// of ``PresentableError`` and of docs/errors.md.
///
///     CloudErrorTable.entry(for: error.code).sentence
///
/// Source: `CKError.Code` of Apple's CloudKit; the codes that CKError lacks stand under the number that comes closest.
public enum CloudErrorTable {
    /// The row of a code; for one that the table does not know, the row of `internalError`.
    public static func entry(for code: CloudError.Code) -> CloudErrorEntry {
        byCode[code] ?? entries[0]
    }

    /// The rows, in the order of CKError's numbers.
    public static let entries: [CloudErrorEntry] = network + requests + records + zones

    private static let byCode = Dictionary(entries.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
}

extension CloudErrorTable {
    private static let network: [CloudErrorEntry] = [
        CloudErrorEntry(
            1, "internalError", "something failed that has no code of its own", .never,
            say: "Something went wrong.", next: "report it, with the details", raised: false),
        CloudErrorEntry(
            1, "internalError", .damaged, "bytes are not what their hash, size or grammar says", .afterAction,
            say: "The shared data is damaged.", next: "bring the file back from a copy, or run snapsync doctor"),
        CloudErrorEntry(
            2, "partialFailure", "some records of a request failed, each for its own reason", .never,
            say: "Some changes could not be saved.", next: "look at each record's own error"),
        CloudErrorEntry(
            3, "networkUnavailable", .cloudUnavailable, "the cloud is not there: not mounted, or no network", .later,
            say: "The shared data cannot be reached at the moment.", next: "mount the directory or connect, then try again"),
        CloudErrorEntry(
            4, "networkFailure", .inputOutput, "a read or a write failed on the way", .later,
            say: "The shared data could not be read or written.", next: "check the disk, the mount or the network, then try again"),
        CloudErrorEntry(
            5, "badContainer", "another cloud or another container stands there", .afterAction,
            say: "This is not the data that belongs to the app.", next: "check the path and the container identifier"),
        CloudErrorEntry(
            5, "badContainer", .notACloud, "the directory is there and is not a cloud", .afterAction,
            say: "There is no shared data in this place.", next: "check the path, or make a cloud there"),
        CloudErrorEntry(
            6, "serviceUnavailable", "the service is down", .later,
            say: "The service is not available at the moment.", next: "try again later", raised: false),
        CloudErrorEntry(
            7, "requestRateLimited", "too many requests in a short time", .later,
            say: "There were too many requests; please wait a moment.", next: "wait as long as `retryAfter` says, then try again"),
        CloudErrorEntry(
            8, "missingEntitlement", "the app is not entitled to the service", .never,
            say: "This app may not use the service.", next: "correct the app's entitlements", raised: false),
        CloudErrorEntry(
            9, "notAuthenticated", "there is no account", .afterAction,
            say: "You are not signed in.", next: "sign in; what was changed here is kept"),
    ]

    private static let requests: [CloudErrorEntry] = [
        CloudErrorEntry(
            10, "permissionFailure", "the user lacks a right", .afterAction,
            say: "You may not do this.", next: "give this user the right to read and write there"),
        CloudErrorEntry(
            10, "permissionFailure", .notAuthorized, "this device may not publish here", .afterAction,
            say: "This device may only read.", next: "publish on the device that made the zone, or use the role reader"),
        CloudErrorEntry(
            10, "permissionFailure", .keyUnavailable, "the device's private keys are missing or cannot be used", .afterAction,
            say: "This device cannot prove who it is.", next: "bring the key file back, or set the device up again and have it approved"),
        CloudErrorEntry(
            11, "unknownItem", "the record, version or asset is not there", .never,
            say: "This item no longer exists.", next: "fetch what is new; to save the item all the same, make it anew without a tag"),
        CloudErrorEntry(
            12, "invalidArguments", "a name, a value, a query or a cursor is not allowed", .never,
            say: "This cannot be saved or searched for.", next: "correct the request"),
        CloudErrorEntry(
            14, "serverRecordChanged", "another device was first", .afterFetching,
            say: "This was changed on another device in the meantime.", next: "merge with the server's record, then save again"),
        CloudErrorEntry(
            15, "serverRejectedRequest", "the request was refused for good", .never,
            say: "The request was refused.", next: "report it, with the details", raised: false),
        CloudErrorEntry(
            15, "serverRejectedRequest", .clockUnusable, "a clock is outside 2000 to 2100, or a day off the cloud's", .afterAction,
            say: "The clock of this device is wrong.", next: "set the clock, then try again"),
        CloudErrorEntry(
            15, "serverRejectedRequest", .rolledBack, "the zone's history ends before what this device has read, or is another", .afterAction,
            say: "The shared data is older than what this device has seen.", next: "find out who put an old copy there; run snapsync doctor"),
        CloudErrorEntry(
            15, "serverRejectedRequest", .untrusted, "a signature is missing or not one by a member who may do this", .afterAction,
            say: "Somebody who may not has written to the shared data.", next: "find out who wrote it; run snapsync doctor"),
        CloudErrorEntry(
            16, "assetFileNotFound", "a record names an asset that is not there", .afterAction,
            say: "A file that belongs to this item is missing.", next: "write the asset again, then save"),
        CloudErrorEntry(
            17, "assetFileModified", "a record names an asset that is there with another size or content", .afterAction,
            say: "A file that belongs to this item was changed.", next: "write the asset again, then save"),
        CloudErrorEntry(
            18, "incompatibleVersion", "the data needs a newer version of the program", .afterAction,
            say: "The shared data was made by a newer version.", next: "update on this device"),
    ]

    private static let records: [CloudErrorEntry] = [
        CloudErrorEntry(
            20, "operationCancelled", "the caller cancelled it", .never,
            say: "Cancelled.", next: "nothing; start it again if it is wanted"),
        CloudErrorEntry(
            21, "changeTokenExpired", "what the token continues is no longer kept", .afterFetching,
            say: "This device was away for a long time and reads everything again.", next: "read the zone whole, then go on from the new token"),
        CloudErrorEntry(
            22, "batchRequestFailed", "another record made the atomic request fail", .afterFetching,
            say: "Nothing was saved, because something else in it could not be.", next: "correct the record that failed, then save all again"),
        CloudErrorEntry(
            23, "zoneBusy", "other devices published first again and again", .later,
            say: "Other devices are saving at the moment.", next: "try again in a moment"),
        CloudErrorEntry(
            25, "quotaExceeded", "there is no room", .afterAction,
            say: "There is no room left for the shared data.", next: "make room; what was not saved is kept and goes out then"),
    ]

    private static let zones: [CloudErrorEntry] = [
        CloudErrorEntry(
            26, "zoneNotFound", "there is no such zone", .afterAction,
            say: "There is no shared data yet.", next: "create the zone, then save everything"),
        CloudErrorEntry(
            27, "limitExceeded", "the request or a record is larger than allowed", .afterAction,
            say: "This is too large to be saved at once.", next: "split the request in half, or make the record smaller"),
        CloudErrorEntry(
            28, "userDeletedZone", "the zone was deleted on purpose", .afterAction,
            say: "The shared data was deleted on another device.", next: "keep, remove or upload again what is here: the user decides"),
        CloudErrorEntry(
            31, "referenceViolation", "a reference that needs its target has none", .afterAction,
            say: "This belongs to something that no longer exists.", next: "save the target first or in the same request"),
        CloudErrorEntry(
            32, "managedAccountRestricted", "the account may not use the service", .afterAction,
            say: "This account may not use the shared data.", next: "ask whoever manages the account"),
        CloudErrorEntry(
            34, "serverResponseLost", "the answer was lost: the request may have succeeded", .later,
            say: "It is not certain that this was saved.", next: "send the same request again"),
        CloudErrorEntry(
            35, "assetNotAvailable", .pending, "a commit is there whose asset has not arrived", .later,
            say: "The data is still on its way.", next: "try again later"),
        CloudErrorEntry(
            36, "accountTemporarilyUnavailable", "there is an account, and it cannot be used just now", .later,
            say: "Your account is not available at the moment.", next: "try again later, or sign in again"),
    ]
}

extension CloudError.Code {
    /// The row of the code in the table of errors.
    public var entry: CloudErrorEntry { CloudErrorTable.entry(for: self) }
    /// The number of the `CKError.Code` that means the same.
    public var number: Int { entry.number }
}
