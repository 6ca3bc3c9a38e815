import StrictText

extension DeviceReport {
    package static let sealName = "report"

    /// Reads a report's file. In a signed zone the signature is verified here; whether the signing key counts is decided later.
    ///
    /// - Parameter isVerified: whether the signature of a report with these keys and this nonce need not be checked.
    /// - Throws: ``CloudError`` with `.damaged` if it is not a report of `device`, with `.untrusted` if the signature is not valid.
    package init(
        _ bytes: [UInt8], of device: String, in history: HistoryID? = nil, at place: String,
        isVerified: (DevicePublicKeys, String?) -> Bool = { _, _ in false }
    ) throws(CloudError) {
        let isSigned = history?.isSigned ?? false
        self = try ChecksummedDocument.decode(DeviceReport.self, named: DeviceReport.sealName, from: bytes, at: place, isSigned: isSigned)
        if let history, isSigned {
            let proof = try ChecksummedDocument.decode(Proof.self, named: DeviceReport.sealName, from: bytes, at: place, isSigned: true)
            guard proof.cloud == history.cloud, proof.zone == history.zone.description else {
                throw CloudError(.damaged, at: place, "a report of another location or zone", hint: CloudError.damageHint)
            }
            let keys = DevicePublicKeys(signing: proof.key, sealing: proof.sealKey)
            guard keys.isWellFormed, keys.sealingKind == history.protection.sealingKeyKind else {
                throw CloudError(.damaged, at: place, "a key is not one", hint: CloudError.damageHint)
            }
            if !isVerified(keys, nonce) { try ChecksummedDocument.verifySignature(of: bytes, named: DeviceReport.sealName, by: keys.signing, at: place) }
            self.keys = keys
        }
        guard self.device == device, (try? verify()) != nil else {
            throw CloudError(.damaged, at: place, "not a report of this device", hint: CloudError.damageHint)
        }
    }

    /// The further fields of a signed report: the cloud and zone in which it is valid, and the keys that signed it.
    private struct Proof: Codable {
        let cloud: String
        let key: String
        let sealKey: String
        let zone: String
    }

    /// The bytes of the report's file, signed in a signed zone.
    package func bytes(of history: HistoryID, by keys: DeviceKeys?) throws -> [UInt8] {
        guard let keys else { return try ChecksummedDocument.encode(self, named: Self.sealName) }
        let proof = Proof(
            cloud: history.cloud, key: keys.publicKeys.signing, sealKey: keys.publicKeys.sealing, zone: history.zone.description)
        return try ChecksummedDocument.encode(SignedReport(report: self, proof: proof), named: Self.sealName, by: keys)
    }

    /// A report with the fields of a signed one.
    private struct SignedReport: Encodable {
        let report: DeviceReport
        let proof: Proof

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            try proof.encode(to: encoder)
        }
    }

    /// Refuses a report that no reader could read back.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    package func verify() throws(CloudError) {
        try CloudNames.verify(device, isNameOf: "device")
        try CloudNames.verify(role, isNameOf: "role")
        guard token.map({ $0.number > 0 && ContentHash.isHash($0.hash) }) ?? true, Instant.representable.contains(clock.microseconds),
            nonce.map({ (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }) ?? true
        else {
            throw CloudError(.invalidArguments, at: "report", "the token, the clock or the nonce is not possible")
        }
    }

    /// Whether the report differs from `last`, or their clocks are a day or more apart (`last` is old, or its clock was ahead).
    package func isNews(after last: DeviceReport) -> Bool {
        role != last.role || token != last.token || nonce != last.nonce || abs(clock.microseconds - last.clock.microseconds) >= CommitClock.dayInMicroseconds
    }
}
