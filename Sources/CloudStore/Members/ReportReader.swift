/// Decides which of a device's reports counts: the newest readable one; in a signed zone, the newest one that the device's own keys signed.
package struct ReportReader {
    let history: HistoryID
    /// The members of a signed zone; nil if they could not be read.
    let members: MemberList?
    /// The keys of this device. While it is not a member, a report that these keys signed counts before reports that others wrote under its
    /// name.
    let own: DevicePublicKeys?
    private let authority: ZoneAuthority
    /// Whether the device's own last report, by its nonce, counts without a check of its signature.
    private let knowsOwn: Bool

    /// Loads the members for one read of a zone's reports.
    ///
    /// Reports are only information for people. If the members cannot be read, every report counts as one of a device that is not a member.
    ///
    /// - Parameter knowsOwn: whether to skip the check of a report that names this device's keys and one of ``ZoneAuthority/ownNonces``. A forged
    ///   one would say what the device knows already: that it has reported last itself.
    package init(_ zone: Zone, knowsOwn: Bool = false) {
        self.knowsOwn = knowsOwn
        history = zone.history
        authority = zone.authority
        members = zone.history.isSigned ? (try? HistoryReader(zone).members()) ?? nil : nil
        own = zone.history.isSigned ? zone.authority.knowledge.own : nil
    }

    /// Returns the report that counts.
    ///
    /// For a member's name, the newest report signed by the member counts. If there is none, or the name is not a member's, the newest
    /// report counts whoever signed it: it is a request for membership.
    ///
    /// - Parameters:
    ///   - counters: the counters of the reports in the store, in any order.
    ///   - read: returns a report's bytes and place; nil if it was just removed. If it throws, the next older report is tried.
    package func newest(of device: String, _ counters: [Int], read: (Int) throws -> (bytes: [UInt8], place: String)?) -> DeviceReport? {
        var asking: DeviceReport?
        for counter in counters.sorted(by: >) {
            guard let (bytes, place) = try? read(counter), var report = try? report(bytes, of: device, at: place) else { continue }
            guard history.isSigned else { return report }
            let member = members?.member(device)
            report.isMember = member != nil && member?.keys == report.keys
            if report.isMember == true { return report }
            // Among several requests under one name, this device prefers its own.
            if member == nil, own == report.keys { return report }
            if member == nil, asking == nil { asking = report }
        }
        return asking
    }

    /// Returns the counters of the reports that a new one of this device replaces. In a signed zone, those that other keys signed are not among
    /// them, such as a member's of the same name.
    package func replaced(of device: String, _ counters: [Int], read: (Int) throws -> (bytes: [UInt8], place: String)?) -> [Int] {
        guard history.isSigned else { return counters }
        return counters.filter { counter in
            guard let (bytes, place) = try? read(counter), let report = try? report(bytes, of: device, at: place) else { return true }
            return report.keys == own
        }
    }

    /// Returns the newest report under a device's name that no member of that name has signed: a request for membership.
    package func request(of device: String, _ counters: [Int], read: (Int) throws -> (bytes: [UInt8], place: String)?) -> DeviceReport? {
        for counter in counters.sorted(by: >) {
            guard let (bytes, place) = try? read(counter), var report = try? report(bytes, of: device, at: place) else { continue }
            report.isMember = false
            if members?.member(device)?.keys != report.keys { return report }
        }
        return nil
    }

    private func report(_ bytes: [UInt8], of device: String, at place: String) throws(CloudError) -> DeviceReport {
        try DeviceReport(bytes, of: device, in: history, at: place) { keys, nonce in
            knowsOwn && keys == own && nonce.map(authority.ownNonces.contains) == true
        }
    }
}
