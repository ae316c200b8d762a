import DeviceSimulation
import Foundation
import TestSupport
import Testing
import TokenClient

@Suite("The location of the provider's socket for the PKCS #11 module", .timeLimit(.minutes(10)))
struct ProviderPlaceTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func place(_ environment: [String: String]) -> String? {
        ProviderPlace.socketPath { environment[$0] }
    }

    @Test("The socket variable takes precedence over the device variable, and both over the default location")
    func order() throws {
        let device = try Device(folder: scratch.path("device"))
        #expect(place(["KEYSHARE_SOCKET": "/s", "KEYSHARE_DEVICE": device.folder]) == "/s")
        #expect(place(["KEYSHARE_DEVICE": device.folder, "HOME": "/h"]) == device.folder + "/provider.sock")
        let home = try Device(folder: scratch.path("data/keyshare"))
        let data = URL(fileURLWithPath: home.folder).deletingLastPathComponent().path
        #expect(place(["XDG_DATA_HOME": data, "HOME": "/h"]) == home.folder + "/provider.sock")
        let local = try Device(folder: scratch.path("home/.local/share/keyshare"))
        #expect(
            place(["XDG_DATA_HOME": "relative", "HOME": scratch.path("home")]) == local.folder
                + "/provider.sock")
    }

    @Test("The service's socket is found for the default device if the device has no socket of its own")
    func service() throws {
        let device = try Device(folder: scratch.path("data/keyshare"))
        let data = URL(fileURLWithPath: device.folder).deletingLastPathComponent().path
        let environment = ["XDG_DATA_HOME": data, "XDG_RUNTIME_DIR": scratch.path("run")]
        let own = device.folder + "/provider.sock"
        #expect(place(environment) == own)
        try FileManager.default.createDirectory(
            atPath: scratch.path("run/keyshare"), withIntermediateDirectories: true)
        let service = try scratch.write([], as: "run/keyshare/provider.sock")
        #expect(place(environment) == service)
        #expect(place(environment.merging(["KEYSHARE_DEVICE": device.folder]) { $1 }) == own)
        _ = try scratch.write([], as: "data/keyshare/provider.sock")
        #expect(place(environment) == own)
    }

    @Test("If the path is too long, the provider's short path in the runtime folder is used")
    func longPath() throws {
        let device = try Device(folder: scratch.path(String(repeating: "d", count: 100)))
        let expected = try device.socketPath(runtimeDirectory: "/run/x", creatingFolder: false)
        #expect(place(["KEYSHARE_DEVICE": device.folder, "XDG_RUNTIME_DIR": "/run/x"]) == expected)
        #expect(place(["KEYSHARE_DEVICE": device.folder]) == nil)
    }

    @Test("Without a device no socket is found")
    func noDevice() {
        #expect(place(["KEYSHARE_DEVICE": scratch.path("nothing")]) == nil)
        #expect(place(["KEYSHARE_SOCKET": String(repeating: "s", count: 108)]) == nil)
    }
}
