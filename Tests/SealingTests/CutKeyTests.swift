import Sealing
import Testing

@Suite struct CutKeyTests {
    /// From the appendix of the paper and the reference implementation's table of vectors; `openssl mac SIPHASH` gives the same.
    @Test(
        arguments: [
            (0, 0x726F_DB47_DD0E_0E31), (1, 0x74F8_39C5_93DC_67FD), (2, 0x0D6C_8009_D9A9_4F5A), (3, 0x8567_6696_D7FB_7E2D), (4, 0xCF27_94E0_2771_87B7),
            (5, 0x1876_5564_CD99_A68D), (6, 0xCBC9_466E_58FE_E3CE), (7, 0xAB02_00F5_8B01_D137), (8, 0x93F5_F579_9A93_2462), (9, 0x9E00_82DF_0BA9_E4B0),
            (10, 0x7A5D_BBC5_94DD_B9F3), (11, 0xF4B3_2F46_226B_ADA7), (12, 0x751E_8FBC_860E_E5FB), (13, 0x14EA_5627_C084_3D90),
            (14, 0xF723_CA90_8E7A_F2EE), (15, 0xA129_CA61_49BE_45E5), (63, 0x958A_324C_EB06_4572),
        ] as [(Int, UInt64)])
    func theHashIsSipHash24(length: Int, hash: UInt64) throws {
        let key = try #require(CutKey(Array(0..<16)))
        #expect((0..<UInt8(length)).map(\.self).withUnsafeBytes { key.hash($0) } == hash)
    }

    @Test func aKeyHasSixteenBytes() {
        #expect(CutKey([UInt8](repeating: 1, count: 15)) == nil)
        #expect(CutKey([UInt8](repeating: 1, count: 17)) == nil)
    }
}
