import StrictText

// The mailbox: `messages/<sender>/<32 hex>.json`.
extension Zone {
    /// Stores a message if its name is free.
    func send(_ message: CloudMessage, clock: Instant) throws {
        try authority.verifySealing(in: history)
        let bytes = try MessageDocument.encode(message, of: history, by: history.isSigned ? authority.signer() : nil)
        let place = path("\(CloudNames.messages)/\(message.sender)/\(message.id).json")
        guard try store.put(bytes, as: place, clock: clock, in: history.zone) != .taken else { throw CloudMailbox.takenID(at: place) }
    }

    /// Reads the waiting messages. Folders whose names are not valid device names are ignored.
    func mailbox(of sender: String?) throws -> CloudMailbox {
        let all = path("\(CloudNames.messages)/")
        var mailbox = CloudMailbox(), listed: [String]
        do throws(CloudError) {
            listed = try store.paths(sender.map { "\(all)\($0)/" } ?? all)
        } catch {
            guard error.code == .damaged else { throw error }
            mailbox.setAside.append(SetAsideMessage(place: path(CloudNames.messages), reason: error.reason))
            return mailbox
        }
        let senders = Self.grouped(listed, beneath: all)
        let signers = senders.isEmpty ? nil : try MessageSigners(self, of: sender)
        for (sender, names) in senders {
            let folder = "\(all)\(sender)"
            mailbox.take(names, of: sender, in: history, by: signers, at: folder, isArriving: { store.isArriving("\(folder)/\($0)") }) {
                name throws(CloudError) in
                try store.get("\(folder)/\(name)", limit: CloudMessage.byteLimit)
            }
        }
        return mailbox
    }

    /// The names of the objects of each device, sorted by device, from the paths beneath a folder that has a folder for each device.
    private static func grouped(_ paths: [String], beneath folder: String) -> [(device: String, names: [String])] {
        var devices: [String: [String]] = [:]
        for path in paths {
            let parts = name(path, beneath: folder).exact.split(separator: "/", omittingEmptySubsequences: false)
            if parts.count == 2, CloudNames.isName(parts[0]) { devices[parts[0], default: []].append(parts[1]) }
        }
        return devices.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }

    func remove(_ message: CloudMessageName) throws {
        try CloudNames.verify(message.sender, isNameOf: "device")
        guard CloudNames.isMessageID(message.id) else { return }
        try store.remove(path("\(CloudNames.messages)/\(message.sender)/\(message.id).json"))
    }
}

// The reports of the devices: `devices/<device>/<20-digit counter>.json`. The highest counter counts.
extension Zone {
    /// The largest report, in bytes.
    private static let reportByteLimit = 64 << 10

    func add(_ report: DeviceReport) throws {
        try report.verify()
        let bytes = try report.bytes(of: history, by: history.isSigned ? authority.signer() : nil)
        let folder = path("\(CloudNames.devices)/\(report.device)/")
        // Another run of the same device may take the next counter at the same time. Then try again.
        var taken = 0
        for _ in 0..<8 {
            let known = try reports(of: report.device, in: folder)
            if let last = known.newest, !report.isNews(after: last) { return }
            // A listing may lag behind and miss a counter that was taken just now.
            let last = max(known.counters.last ?? 0, taken)
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !known.counters.contains($0) } ?? 1
            guard try store.put(bytes, as: "\(folder)\(CloudNames.digits(next)).json") != .taken else {
                taken = next
                continue
            }
            // A device that may not delete leaves its older reports, which no longer count.
            let replaced = ReportReader(self, knowsOwn: true).replaced(of: report.device, known.counters) { try read($0, in: folder) }
            for old in replaced where try !removes("\(folder)\(CloudNames.digits(old)).json") { return }
            return
        }
        throw CloudError(.inputOutput, at: folder, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// Removes every report under a device's name.
    func removeReports(of device: String) throws {
        let folder = path("\(CloudNames.devices)/\(device)/")
        for counter in try counters(in: folder) { try store.remove("\(folder)\(CloudNames.digits(counter)).json") }
    }

    /// Removes an object. Returns false if the credentials do not allow deletion.
    private func removes(_ path: String) throws(CloudError) -> Bool {
        do throws(CloudError) {
            try store.remove(path)
            return true
        } catch {
            guard error.code == .permissionFailure else { throw error }
            return false
        }
    }

    func newestReport(of device: String) throws -> DeviceReport? {
        let folder = path("\(CloudNames.devices)/\(device)/")
        return try reports(of: device, in: folder).newest
    }

    /// The counters of a device's reports in ascending order, and the newest readable report.
    private func reports(of device: String, in folder: String) throws -> (counters: [Int], newest: DeviceReport?) {
        let counters = try counters(in: folder)
        return (counters, newest(of: device, counters, in: folder, ReportReader(self, knowsOwn: true)))
    }

    func newestReports() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in newest(of: name, counters, in: folder, reader) }
    }

    /// The newest report of each device that requests membership of a signed zone, sorted by device name.
    func requests() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try reportsByDevice { name, counters, folder in reader.request(of: name, counters) { try read($0, in: folder) } }
    }

    private func reportsByDevice(_ choose: (_ device: String, _ counters: [Int], _ folder: String) -> DeviceReport?) throws -> [DeviceReport] {
        let all = path("\(CloudNames.devices)/")
        return Self.grouped(try store.paths(all), beneath: all).compactMap { device, names in
            choose(device, names.compactMap(CloudNames.number(ofFile:)).sorted(), "\(all)\(device)/")
        }
    }

    private func counters(in folder: String) throws(CloudError) -> [Int] {
        try store.paths(folder).compactMap { CloudNames.number(ofFile: Self.name($0, beneath: folder)) }.sorted()
    }

    /// Reports are only information for people: if one is damaged, or its device has just removed it, the next older one counts.
    private func newest(of device: String, _ counters: [Int], in folder: String, _ reader: ReportReader) -> DeviceReport? {
        reader.newest(of: device, counters) { try read($0, in: folder) }
    }

    private func read(_ counter: Int, in folder: String) throws -> (bytes: [UInt8], place: String)? {
        let name = "\(folder)\(CloudNames.digits(counter)).json"
        return try store.get(name, limit: Self.reportByteLimit).map { ($0, name) }
    }
}

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
