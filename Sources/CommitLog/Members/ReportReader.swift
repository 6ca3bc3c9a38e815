package import CloudStore

/// Decides which of a device's reports counts: the newest that can be read, and in a signed zone the newest by the device's own keys.
package struct ReportReader {
    let history: HistoryID
    /// The members of a signed zone; nil if they are not known.
    let members: MemberList?
    /// The keys of this device, and its name if it is known: what others write in its name does not count.
    let own: DevicePublicKeys?

    /// Prepares for one look at a zone's reports.
    ///
    /// Reports are hints for people: where the members cannot be read, every report counts as that of somebody who is none.
    package init(_ source: some HistorySource) {
        history = source.history
        members = source.history.isSigned ? (try? HistoryReader(source: source).members()) ?? nil : nil
        own = source.history.isSigned ? source.authority.knowledge.own : nil
    }

    /// The report that counts.
    ///
    /// A name that is a member's has no other reports than those that the member has signed. Under any other name the newest report counts, signed by
    /// whom it may be: it asks for membership.
    ///
    /// - Parameters:
    ///   - counters: the reports that are there, in any order.
    ///   - read: a report's bytes and its place; nil if it was just removed. An error makes way for the next older report.
    package func newest(of device: String, _ counters: [Int], read: (Int) throws -> (bytes: [UInt8], place: String)?) -> DeviceReport? {
        var asking: DeviceReport?
        for counter in counters.sorted(by: >) {
            guard let (bytes, place) = try? read(counter), var report = try? DeviceReport(bytes, of: device, in: history, at: place) else { continue }
            guard history.isSigned else { return report }
            let member = members?.member(device)
            report.isMember = member != nil && member?.keys == report.keys
            if report.isMember == true { return report }
            // Of those who ask, this device knows itself.
            if member == nil, own == report.keys { return report }
            if member == nil, asking == nil { asking = report }
        }
        return asking
    }

    /// The newest report under a device's name by keys that are not those of a member of that name: it asks for membership.
    package func request(of device: String, _ counters: [Int], read: (Int) throws -> (bytes: [UInt8], place: String)?) -> DeviceReport? {
        for counter in counters.sorted(by: >) {
            guard let (bytes, place) = try? read(counter), var report = try? DeviceReport(bytes, of: device, in: history, at: place) else { continue }
            report.isMember = false
            if members?.member(device)?.keys != report.keys { return report }
        }
        return nil
    }
}
