import OpenSSL
import TestCredentials
import Testing

@Suite("Estimates of provisioning runs", .timeLimit(.minutes(10)))
struct ProvisioningEstimateTests {
    private func warning(
        _ keys: [KeyAlgorithm: Int], processors: Int = 2, source: ProvisioningEstimate.Source = .options
    ) -> String? {
        ProvisioningEstimate(
            keys: keys, certificates: keys.values.reduce(0, +), processors: processors, source: source
        )
        .warning { $0 == .rsa(bits: 2048) ? 0.7 : 0.0001 }
    }

    @Test("A warning suggests only what the source of the credentials permits")
    func sources() {
        let keys: [KeyAlgorithm: Int] = [.rsa(bits: 2048): 60_000]
        let time = "about 6 h for 60,000 RSA-2048 keys on 2 processors"
        #expect(warning(keys, source: .renewal) == time + "; --key p256 takes 2 min")
        #expect(
            warning(keys, source: .scenario)
                == time + "; the scenario with \u{201C}key: p256\u{201D} takes 2 min")
    }

    @Test("A warning about a run with a pool of keys suggests no faster keys")
    func pool() {
        let estimate = ProvisioningEstimate(
            keys: [.rsa(bits: 2048): 60_000], certificates: 60_000, processors: 2, poolSize: 60_000)
        #expect(
            estimate.warning { _ in 0.7 } == "about 6 h for 60,000 RSA-2048 keys on 2 processors")
    }

    @Test("A run of more than 30 seconds has a warning with time, keys, processors and alternatives")
    func long() {
        #expect(
            warning([.rsa(bits: 2048): 60_000])
                == "about 6 h for 60,000 RSA-2048 keys on 2 processors; --key p256 takes 2 min, and --key-pool 64 "
                + "2 min")
        #expect(
            warning([.p256: 60_000], processors: 1) == "about 3 min for 60,000 P-256 keys on 1 processor")
    }

    @Test("A run of at most 30 seconds has no warning, and its keys are not measured")
    func short() {
        #expect(warning([.p256: 1000]) == nil)
        #expect(warning([.rsa(bits: 2048): 60]) == nil)
        let estimate = ProvisioningEstimate(keys: [.rsa(bits: 2048): 10], certificates: 10, processors: 2)
        var isMeasured = false
        #expect(
            estimate.warning { _ in
                isMeasured = true
                return 1
            } == nil)
        #expect(!isMeasured)
    }

    @Test("The measured time of an RSA key is positive and grows with the size")
    func measured() {
        let small = ProvisioningEstimate.measuredTime(of: .rsa(bits: 2048))
        #expect(small > 0)
        #expect(
            ProvisioningEstimate.usualTime(of: .rsa(bits: 4096)) > 8
                * ProvisioningEstimate.usualTime(of: .rsa(bits: 2048)))
    }
}
