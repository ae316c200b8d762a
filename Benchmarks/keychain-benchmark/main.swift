import CertificateReading
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeyShareServer
import KeyShareWire
import KeySharing
import OpenSSL
import SecretMemory
import SimulatedKeychain
import StandardExtensions

// usage: keychain-benchmark FOLDER [FEW [MANY]]
// Fills two devices in FOLDER with FEW and MANY identities (100 and 100,000), and sends both the same requests in
// turns. Prints the processor time of each reply in microseconds, and the ratio. The best of many rounds counts,
// because other work on the machine can only slow it down.

let arguments = Array(CommandLine.arguments.dropFirst())
let counts = [1, 2].map { arguments.count > $0 ? Int(arguments[$0]) : nil }
guard let folder = arguments.first else { exit(64) }
let few = try await Filled(folder + "/few", counts[0] ?? 100)
let many = try await Filled(folder + "/many", counts[1] ?? 100_000)

func cells(_ cells: [String]) -> String {
    let widths = [44, 14, 14, 8]
    return zip(cells, widths).enumerated().map { index, cell in
        let padding = String(repeating: " ", count: max(cell.1 - cell.0.count, 0))
        return index == 0 ? cell.0 + padding : padding + cell.0
    }.joined()
}

func number(_ value: Double, _ digits: Int) -> String {
    value.formatted(.number.precision(.fractionLength(digits)).grouping(.never))
}

print(cells(["look-up", "\(few.count), µs", "\(many.count), µs", "ratio"]))
for question in Question.allCases {
    var best = [Double.infinity, .infinity]
    for _ in 0..<question.rounds {
        for (index, filled) in [few, many].enumerated() {
            best[index] = min(best[index], try await filled.time(question))
        }
    }
    print(cells([question.rawValue] + best.map { number($0 * 1e6, 1) } + [number(best[1] / best[0], 2)]))
}

/// The operations to measure.
enum Question: String, CaseIterable {
    case label = "an identity by its label"
    case opened = "an identity by its label, with its key"
    case query = "a query by class and label"
    case classAndGroup = "64 items by class and group"
    case otherClass = "a password by class and group"
    case page = "a page of 64 of the provider's root"
    case middle = "a page of 64 from the middle"
    case folder = "a page of 64 of the provider's Unfiltered"
    case item = "one of the provider's items"
    case cold = "the first page after a change (reads all)"

    /// The number of measurements.
    var rounds: Int { self == .cold ? 3 : 25 }

    /// The number of replies in one measurement.
    var repetitions: Int { self == .cold ? 1 : 100 }
}

/// A device whose provider has `count` identities.
struct Filled {
    let count: Int
    private let keychain: Keychain
    private let provider: Provider
    private let cursor: String
    private let group: String

    init(_ folder: String, _ count: Int) async throws {
        self.count = count
        group = App.publishedGroup
        let device = try Device(folder: folder)
        keychain = try Keychain(device: device, app: .provider)
        let key = try PrivateKey.generate(.p256)
        let template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Benchmark")]), serialNumber: [1],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        let certificate = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
        let (pkcs8, tag) = (try key.pkcs8(), IdentitySummary(certificate).tag)
        let shared = group
        for start in stride(from: 0, to: count, by: 10_000) {
            let outcomes = try keychain.add(
                (start..<min(start + 10_000, count)).map { index in
                    .success(
                        NewIdentity(
                            label: Self.label(index), certificate: certificate.der, privateKey: pkcs8,
                            applicationTag: tag, notBefore: certificate.notBefore, accessGroup: shared))
                })
            for outcome in outcomes { _ = try outcome.result.get() }
        }
        provider = try Provider(
            ProviderStore(device), profile: .modern, now: { Date() }, putOnPasteboard: { _ in })
        let start = try await provider.page(of: Item.root, after: nil, limit: max(count / 2, 1)).nextCursor
        guard let start else { throw CocoaError(.coderValueNotFound) }
        cursor = start
    }

    private static func label(_ index: Int) -> String {
        Digest.sha256(Array("\(index)".utf8)).upperHex
    }

    /// The processor time of one reply, in seconds.
    func time(_ question: Question) async throws -> Double {
        var labels = (0..<question.repetitions).map { _ in Self.label(.random(in: 0..<count)) }
        if question == .cold {
            try keychain.setPassword(SecretBytes([1]), service: "change", account: "", accessGroup: group)
        }
        let start = processorTime()
        while let label = labels.popLast() {
            switch question {
            case .label: _ = try keychain.identity(label: label, accessGroup: group)
            case .opened: _ = try keychain.openIdentity(label: label, accessGroup: group)
            case .query:
                _ = try keychain.copyMatching(KeychainQuery(.identity, label: label, accessGroup: group))
            case .classAndGroup:
                _ = try keychain.copyMatching(KeychainQuery(.identity, accessGroup: group), limit: 64)
            case .otherClass:
                _ = try keychain.copyMatching(KeychainQuery(.genericPassword, accessGroup: group), limit: 64)
            case .page, .cold: _ = try await provider.page(of: Item.root, after: nil, limit: 64)
            case .middle: _ = try await provider.page(of: Item.root, after: cursor, limit: 64)
            case .folder: _ = try await provider.page(of: "Unfiltered", after: nil, limit: 64)
            case .item: _ = try await provider.item(label)
            }
        }
        return (processorTime() - start) / Double(question.repetitions)
    }
}

/// The processor time of this process, in seconds.
func processorTime() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
