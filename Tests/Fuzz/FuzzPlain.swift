import Foundation
import StrictText

/// What reads itself from a tree, without Codable's machinery, is read as Codable reads it.
func expectSameReading<T: JSONNodeDecodable & Encodable>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer) {
    guard let plain = StrictJSON.plain(type, bytes) else { return }
    let decoded = try? StrictJSON.decodeAny(type, from: Data(bytes))
    expect(decoded != nil, "what reads itself is what Codable takes")
    expect((try? StrictJSON.encode(plain)) == decoded.flatMap { try? StrictJSON.encode($0) }, "what reads itself means what Codable says")
}
