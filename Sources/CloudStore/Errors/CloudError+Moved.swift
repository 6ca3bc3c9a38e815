extension CloudError {
    /// What to do about a file that is not what it should be.
    package static let damageHint = "bring the file back from a copy, or run snapsync doctor"

    /// The same error at another place.
    package func moved(to place: String) -> CloudError {
        var moved = CloudError(
            code, at: place, reason, hint: hint, isRetryable: isRetryable, retryAfter: retryAfter, partialErrors: partialErrors,
            conflict: conflict, zoneDeletion: zoneDeletion)
        moved.isArriving = isArriving
        moved.successor = successor
        moved.commonVersion = commonVersion
        return moved
    }
}
