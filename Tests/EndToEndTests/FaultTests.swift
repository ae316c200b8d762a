import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Faults of the service", .timeLimit(.minutes(10)))
struct FaultTests {
    /// Every fault of serve, with the exit code of the consumer and the code of the error.
    static let table: [(fault: String, status: Int32, error: String?)] = [
        ("no-service", 8, "no-password-service"), ("other-services-first", 0, nil),
        ("wrong-version", 8, "provider-unavailable"), ("neither", 8, "empty-answer"),
        ("error", 8, "provider-unavailable"), ("slow", 0, nil), ("wrong-password", 3, "wrong-password"),
        ("password-rotated", 3, "wrong-password"), ("quote-password", 0, nil),
        ("non-ascii-password", 0, nil), ("truncated-item", 5, "malformed"),
        ("cut-hello", 8, "provider-unavailable"), ("cut-list", 8, "provider-unavailable"),
        ("cut-item", 8, "provider-unavailable"), ("cut-start", 8, "provider-unavailable"),
        ("cut-services", 8, "provider-unavailable"),
        ("cut-password", 8, "provider-unavailable"), ("cut-read", 8, "provider-unavailable"),
        // All data has already arrived when this fault occurs.
        ("cut-stop", 0, nil),
    ]

    @Test(
        "The consumer exits with the fault's exit code for every fault of the provider",
        arguments: table)
    func survives(fault: String, status: Int32, error: String?) async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types", "signature")
        try await simulation.serve("--fault", fault)
        let file = try #require(try await simulation.items().first).filename
        // An item in the root is requested by its identifier if that is known; otherwise it is found by its file name.
        let unaffected = ["cut-list": "Signature.zip", "cut-item": file][fault]
        for name in ["Signature.zip", file] where name != unaffected {
            let type = name == file ? "com.rsa.pkcs-12" : "public.zip-archive"
            let run = try await simulation.consumer("import", name, "--uti", type, "--json")
            #expect(run.status == status, "\(run.errors)")
            #expect(try run.errorCode() == error)
            #expect(try await simulation.held().isEmpty == (status != 0))
        }
        #expect(try await simulation.stopServing().status == 0)
    }

    @Test("The help of serve lists every fault, and serve rejects other names of faults")
    func help() async throws {
        let simulation = try Simulation()
        let lines = try await simulation.provider("serve", "--help").text.split(separator: "\n")
        let listed = lines.drop { !$0.hasPrefix("  no-service") }.prefix { $0.hasPrefix("  ") }
        let names = listed.compactMap { $0.split(separator: " ").first }
        let faults = Self.table.map { Substring($0.fault) }
        #expect(names == faults)
        #expect(try await simulation.provider("serve", "--fault", "everything").status == 64)
    }
}
