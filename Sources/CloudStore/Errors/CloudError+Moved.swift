extension CloudError {
    /// The hint for a damaged file.
    package static let damageHint = "bring the file back from a copy, or run snapsync doctor"

    /// The same error at another place.
    package func moved(to place: String) -> CloudError {
        var moved = CloudError(
            code, at: place, reason, hint: hint, isRetryable: isRetryable, retryAfter: retryAfter, partialErrors: partialErrors,
            conflict: conflict, zoneDeletion: zoneDeletion)
        moved.isArriving = isArriving
        moved.successor = successor
        moved.commonVersion = commonVersion
        moved.missingParent = missingParent
        return moved
    }
}
