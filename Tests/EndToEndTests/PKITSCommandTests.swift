import CommandSupport
import Foundation
import TestSupport
import Testing

/// Runs some tests of NIST's Public Key Interoperability Test Suite with the command. The library's tests run all of
/// them.
@Suite(
    "NIST PKITS through verify", .enabled(if: !PKITS.cases.isEmpty, "there is no pkits-path in the corpora"),
    .timeLimit(.minutes(10)))
struct PKITSCommandTests {
    @Test(
        "Verify returns the expected PKITS result for certificates and revocation lists in files",
        arguments: PKITS.cases.filter { PKITS.sample.contains($0.test) })
    func verdict(_ item: PKITS.Case) async throws {
        let simulation = try Simulation()
        func path(_ kind: String, _ name: String, _ ending: String) -> String {
            "\(PKITS.folder)/\(kind)/\(name).\(ending)"
        }
        let certificates = item.certificates.map { path("certs", $0, "crt") }
        var arguments = [
            "verify", "--file", certificates[certificates.count - 1], "--trust", certificates[0],
            "--at", "2011-04-15", "--security-level", "0", "--json",
        ]
        for file in certificates.dropFirst().dropLast() { arguments += ["--untrusted", file] }
        for list in item.crls { arguments += ["--crl", path("crls", list, "crl")] }
        for policy in item.policies where policy != "2.5.29.32.0" { arguments += ["--policy", policy] }
        if item.explicitPolicy { arguments.append("--explicit-policy") }
        if item.inhibitPolicyMapping { arguments.append("--inhibit-policy-mapping") }
        if item.inhibitAnyPolicy { arguments.append("--inhibit-any-policy") }
        let run = try await simulation.consumer(arguments)
        #expect(run.status == (item.valid ? 0 : 7), "\(run.text)\(run.errors)")
    }
}

extension PKITS {
    /// Some tests of each section.
    static let sample: Set<String> = [
        "4.1.1", "4.1.2", "4.2.1", "4.2.6", "4.3.1", "4.3.6", "4.4.1", "4.4.3", "4.4.19", "4.5.1", "4.5.2",
        "4.5.4",
        "4.6.1", "4.6.5", "4.7.1", "4.7.4", "4.8.1", "4.8.2", "4.8.20", "4.9.3", "4.10.1", "4.10.2", "4.11.1",
        "4.12.1", "4.13.1", "4.13.2", "4.13.38", "4.14.1", "4.14.2", "4.14.18", "4.14.27", "4.15.1", "4.15.2",
        "4.15.4", "4.16.1", "4.16.2",
    ]
}
