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
            mailbox.read(names, of: sender, in: history, by: signers, at: folder, isArriving: { store.isArriving("\(folder)/\($0)") }) {
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
    func add(_ report: DeviceReport) throws {
        try report.verify()
        let bytes = try report.bytes(of: history, by: history.isSigned ? authority.signer() : nil)
        let folder = path("\(CloudNames.devices)/\(report.device)/")
        // Another run of the same device may take the next counter at the same time. Then try again.
        var taken = 0
        for _ in 0..<8 {
            let known = try counters(of: report.device), reader = ReportReader(self, knowsOwn: true)
            if let last = reader.newest(of: report.device, known), !report.isNews(after: last) { return }
            // A listing may lag behind and miss a counter that was taken just now.
            let last = max(known.max() ?? 0, taken)
            let next = last < CloudNames.largestNumber ? last + 1 : (1...).first { !known.contains($0) } ?? 1
            guard try store.put(bytes, as: "\(folder)\(CloudNames.digits(next)).json") != .taken else {
                taken = next
                continue
            }
            // A device that may not delete leaves its older reports, which no longer count.
            return (try? reader.replaced(of: report.device, known).forEach { try store.remove("\(folder)\(CloudNames.digits($0)).json") }) ?? ()
        }
        throw CloudError(.inputOutput, at: folder, "other runs of this device keep reporting", hint: "run one sync at a time", isRetryable: true)
    }

    /// Removes every report under a device's name.
    func removeReports(of device: String) throws {
        for counter in try counters(of: device) { try store.remove(path("\(CloudNames.devices)/\(device)/\(CloudNames.digits(counter)).json")) }
    }

    func newestReport(of device: String) throws -> DeviceReport? {
        try ReportReader(self, knowsOwn: true).newest(of: device, counters(of: device))
    }

    func newestReports() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try allCounters().compactMap { reader.newest(of: $0, $1) }
    }

    /// The newest report of each device that requests membership of a signed zone, sorted by device name.
    func requests() throws -> [DeviceReport] {
        let reader = ReportReader(self)
        return try allCounters().compactMap { reader.request(of: $0, $1) }
    }

    /// The counters of the reports of every device, sorted by device name.
    private func allCounters() throws -> [(device: String, counters: [Int])] {
        let all = path("\(CloudNames.devices)/")
        return Self.grouped(try store.paths(all), beneath: all).map { ($0.device, $0.names.compactMap(CloudNames.number(ofFile:))) }
    }

    private func counters(of device: String) throws(CloudError) -> [Int] {
        try names(in: "\(CloudNames.devices)/\(device)").compactMap(CloudNames.number(ofFile:)).sorted()
    }
}

/// Decides which of a device's reports counts: the newest readable one; in a signed zone, the newest one that the device's own keys signed.
///
/// The functions take the counters of the reports in the store, in any order.
private struct ReportReader {
    private let zone: Zone
    /// The members of a signed zone; nil if they could not be read.
    private let members: MemberList?
    /// The keys of this device. While it is not a member, a report that these keys signed counts before reports that others wrote under its
    /// name.
    private let own: DevicePublicKeys?
    /// Whether the device's own last report, by its nonce, counts without a check of its signature.
    private let knowsOwn: Bool
    /// The largest report, in bytes.
    private static let byteLimit = 64 << 10

    /// Loads the members for one read of a zone's reports.
    ///
    /// Reports are only information for people. If the members cannot be read, every report counts as one of a device that is not a member.
    ///
    /// - Parameter knowsOwn: whether to skip the check of a report that names this device's keys and one of ``ZoneAuthority/ownNonces``. A forged
    ///   one would say what the device knows already: that it has reported last itself.
    init(_ zone: Zone, knowsOwn: Bool = false) {
        (self.zone, self.knowsOwn) = (zone, knowsOwn)
        members = zone.history.isSigned ? (try? HistoryReader(zone).members()) ?? nil : nil
        own = zone.history.isSigned ? zone.authority.knowledge.own : nil
    }

    /// Returns the report that counts.
    ///
    /// For a member's name, the newest report signed by the member counts. If there is none, or the name is not a member's, the newest
    /// report counts whoever signed it: it is a request for membership.
    func newest(of device: String, _ counters: [Int]) -> DeviceReport? {
        var asking: DeviceReport?
        for report in reports(of: device, counters) {
            guard zone.history.isSigned, report.isMember != true else { return report }
            guard members?.member(device) == nil else { continue }
            // Among several requests under one name, this device prefers its own.
            if own == report.keys { return report }
            asking = asking ?? report
        }
        return asking
    }

    /// Returns the counters of the reports that a new one of this device replaces. In a signed zone, those that other keys signed are not among
    /// them, such as a member's of the same name.
    func replaced(of device: String, _ counters: [Int]) -> [Int] {
        guard zone.history.isSigned else { return counters }
        return counters.filter { counter in report(counter, of: device).map { $0.keys == own } ?? true }
    }

    /// Returns the newest report under a device's name that no member of that name has signed: a request for membership.
    func request(of device: String, _ counters: [Int]) -> DeviceReport? { reports(of: device, counters).first { $0.isMember == false } }

    /// The readable reports, newest first. One that is damaged, or that its device has just removed, is left out.
    private func reports(of device: String, _ counters: [Int]) -> some Sequence<DeviceReport> {
        counters.sorted(by: >).lazy.compactMap { report($0, of: device) }
    }

    private func report(_ counter: Int, of device: String) -> DeviceReport? {
        let place = zone.path("\(CloudNames.devices)/\(device)/\(CloudNames.digits(counter)).json")
        guard let bytes = try? zone.store.get(place, limit: Self.byteLimit),
            var report = try? DeviceReport(
                bytes, of: device, in: zone.history, at: place,
                isVerified: { keys, nonce in knowsOwn && keys == own && nonce.map(zone.authority.ownNonces.contains) == true })
        else { return nil }
        if zone.history.isSigned { report.isMember = members?.member(device).map { $0.keys == report.keys } ?? false }
        return report
    }
}
