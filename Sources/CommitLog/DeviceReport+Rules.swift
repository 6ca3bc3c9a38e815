package import CloudStore
package import StrictText

extension DeviceReport {
    package static let sealName = "report"

    /// Reads a report's file.
    ///
    /// - Throws: ``CloudError`` with `.damaged` if it is not one of `device`.
    package init(_ bytes: [UInt8], of device: String, at place: String) throws(CloudError) {
        self = try ChecksummedDocument.decode(DeviceReport.self, named: DeviceReport.sealName, from: bytes, at: place)
        guard self.device == device, (try? verify()) != nil else {
            throw CloudError(.damaged, at: place, "not a report of this device", hint: CloudError.damageHint)
        }
    }

    /// Refuses a report that nobody could read back.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    package func verify() throws(CloudError) {
        try CloudNames.verify(device, isNameOf: "device")
        try CloudNames.verify(role, isNameOf: "role")
        guard token.map({ $0.number > 0 && ContentHash.isHash($0.hash) }) ?? true, CommitClock.representable.contains(clock),
            nonce.map({ (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }) ?? true
        else {
            throw CloudError(.invalidArguments, at: "report", "the token, the clock or the nonce is not possible")
        }
    }

    /// Whether it says something that `last` did not, or `last` is a day old (or from a clock that was ahead by one).
    package func isNews(after last: DeviceReport) -> Bool {
        role != last.role || token != last.token || nonce != last.nonce || abs(clock.microseconds - last.clock.microseconds) >= CommitClock.dayInMicroseconds
    }
}

extension DeviceReport: PlainReadable, PlainWritable {
    package var node: JSONNode {
        .members(["device": .text(device), "role": .text(role), "token": token?.node, "clock": .instant(clock), "nonce": nonce.map { .text($0) }])
    }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(
            device: try members.member("device").text(), role: try members.member("role").text(),
            token: try members.optional("token").map { node throws(JSONNode.Misfit) in try ChangeToken(node) }, clock: try members.member("clock").instant(),
            nonce: try members.optional("nonce")?.text())
    }
}
