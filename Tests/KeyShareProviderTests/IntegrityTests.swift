import DeviceSimulation
import Foundation
import GRDB
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("The check of the provider's data", .timeLimit(.minutes(10)))
struct IntegrityTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    @Test("An altered record is reported once, also if it is altered after the check of the records")
    func altered() async throws {
        let request = ProvisioningRequest(
            personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: date)
        let made = try await Provisioner(store).run(request, from: .system).made
        let label = try #require(made.first?.label)
        let attributes = try #require(try store.keychain.identityAttributes().first { $0.label == label })
        let earlier = try store.keychain.verifyIntegrity()
        #expect(earlier.isEmpty)
        let queue = try DatabaseQueue(path: store.device.folder + "/keychain/keychain.sqlite")
        try await queue.write { database in
            try database.execute(
                sql: "UPDATE item SET sealed = zeroblob(length(sealed)) WHERE id = ?",
                arguments: [attributes.id])
        }
        for found in [earlier, try store.keychain.verifyIntegrity()] {
            let problems = try store.check(after: found).problems.filter { $0.kind == .record }
            #expect(problems.map(\.label) == [label])
        }
    }
}
