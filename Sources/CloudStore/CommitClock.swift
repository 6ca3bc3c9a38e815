package import StrictText

/// The rules for commit times. The times are for people to read, and never used for order.
package enum CommitClock {
    /// 2000 to 2100. A clock outside of it counts as not set.
    package static let plausible = Instant(microseconds: 946_684_800_000_000)...Instant(microseconds: 4_102_444_800_000_000)
    /// The years 1 to 9999, which RFC 3339 can write.
    package static let representable = Instant(microseconds: -62_135_596_800_000_000)...Instant(microseconds: 253_402_300_799_999_999)
    package static let dayInMicroseconds: Int64 = 86_400_000_000

    /// max(`clock`, the parent's timestamp + 1 ms).
    package static func timestamp(clock: Instant, after parent: Instant?) -> Instant {
        guard let parent else { return clock }
        return max(clock, parent.advanced(byMicroseconds: 1000))
    }

    /// Refuses a clock that is outside the plausible years.
    ///
    /// - Throws: ``CloudError`` with `.clockUnusable`.
    package static func verify(_ clock: Instant) throws(CloudError) {
        guard plausible.contains(clock) else {
            throw CloudError(.clockUnusable, at: "clock", "this device's clock says \(clock)", hint: "set the clock, then try again")
        }
    }

    /// Refuses a clock that differs from the cloud's own by a day or more.
    ///
    /// - Throws: ``CloudError`` with `.clockUnusable`.
    package static func verify(_ clock: Instant, against cloud: Instant) throws(CloudError) {
        guard abs(clock.microseconds - cloud.microseconds) < dayInMicroseconds else {
            throw CloudError(
                .clockUnusable, at: "clock", "this device's clock says \(clock), the cloud's \(cloud)",
                hint: "set the clock that is wrong, then try again")
        }
    }
}
