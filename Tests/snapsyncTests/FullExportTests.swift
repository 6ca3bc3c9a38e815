import Foundation
import TestSupport
import Testing

/// What mends a cloud whose newest asset is damaged or gone.
@Suite(.runsPrograms) struct FullExportTests {
    @Test func fullExportMendsADamagedCloudThoughNothingChanged() throws {
        let scene = try Scene.phone()
        let asset = scene.scratch.path(try scene.asset("notifications"))
        let file = try #require(FileHandle(forUpdatingAtPath: asset))
        try file.seek(toOffset: 300)
        try file.write(contentsOf: Data([0, 0, 0, 0, 0, 0, 0, 0]))
        try file.close()
        #expect(try scene.run("check phone.db --read-data").status == 65)
        #expect(try scene.succeed("export phone.db").hasPrefix("nothing new"))
        #expect(try scene.succeed("export phone.db --full").hasPrefix("published version 2\n"))
        try scene.succeed("check phone.db --local")
    }
}
