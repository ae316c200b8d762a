import SecretMemory
import Foundation
import KeyShareConsumer
import OpenSSL
import ZipBundles

// usage: pkcs12-benchmark make FOLDER | import FILE | export FILE, with the duration in seconds as an
// optional last argument.
// `make` writes the files. The others print the number of imports or exports of that file per second.
// A zip is imported like in a consumer, on all available processors, and its files are counted.

let password = SecretBytes(utf8: "password")
let arguments = CommandLine.arguments.dropFirst()

switch arguments.first {
case "make":
    try makeFiles(in: arguments.dropFirst().first ?? ".")
case let mode? where mode == "import" || mode == "export":
    let values = Array(arguments.dropFirst())
    guard values.count == 2, let seconds = Double(values[1]) else { exit(64) }
    let file = URL(fileURLWithPath: values[0])
    let bytes = Array(try Data(contentsOf: file))
    let name = file.deletingPathExtension().lastPathComponent
    if ZipBundle.isArchive(bytes) {
        print(try await archiveRate(seconds, bytes))
    } else if mode == "import" {
        print(try rate(seconds) { try importing(bytes) })
    } else {
        let profile = String(name.split(separator: "_")[1])
        let identity = try PKCS12.read(bytes, password: .text(password)).requireIdentities()[0]
        print(
            try rate(seconds) { try exporting(identity, PKCS12Profile(.init(rawValue: profile) ?? .modern)) })
    }
default:
    exit(64)
}

/// The steps of an import: parse, check the MAC, decrypt, match key and certificate, compute the label.
func importing(_ bytes: [UInt8]) throws {
    let identities = try PKCS12.read(bytes, password: .text(password)).requireIdentities()
    guard identities.count == 1, identities[0].label.utf8.count == 64 else { exit(1) }
}

func exporting(_ identity: PKCS12Identity, _ profile: PKCS12Profile) throws {
    let file = try PKCS12.create(
        privateKey: identity.privateKey, certificate: identity.certificate, friendlyName: "friendly",
        password: password, profile: profile)
    guard file.count > 500 else { exit(1) }
}

/// The number of an archive's files that are imported per second of wall clock time. The best round counts.
func archiveRate(_ seconds: Double, _ bytes: [UInt8]) async throws -> Double {
    let reader = FileReader()
    let clock = ContinuousClock()
    let start = clock.now
    var best = 0.0
    repeat {
        let begun = clock.now
        let files = try await reader.entries(of: bytes, password: password)
        for file in files {
            guard case .read(let contents) = file.contents,
                contents.identities.allSatisfy({ $0.label.utf8.count == 64 })
            else { exit(1) }
        }
        best = max(best, Double(files.count) / ((clock.now - begun) / .seconds(1)))
    } while clock.now - start < .seconds(seconds)
    return best
}

/// Runs in five slices of processor time. The best one counts, because other work on the machine can only slow it.
func rate(_ seconds: Double, _ work: () throws -> Void) rethrows -> Double {
    var best = 0.0
    for _ in 0..<5 {
        var count = 0.0
        let start = processorTime()
        var elapsed = 0.0
        repeat {
            for _ in 0..<5 { try work() }
            count += 5
            elapsed = processorTime() - start
        } while elapsed < seconds / 5
        best = max(best, count / elapsed)
    }
    return best
}

/// The processor time of this process, in seconds.
func processorTime() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func makeFiles(in folder: String) throws {
    for (kind, algorithm) in [("rsa2048", KeyAlgorithm.rsa(bits: 2048)), ("p256", .p256)] {
        let key = try PrivateKey.generate(algorithm)
        let template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Benchmark")]), serialNumber: [1],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        let certificate = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
        for profile in [PKCS12Profile.Name.modern, .compatible, .purebredSample] {
            let bytes = try PKCS12.create(
                privateKey: key, certificate: certificate, friendlyName: "friendly", password: password,
                profile: PKCS12Profile(profile))
            try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(kind)_\(profile.rawValue).p12"))
            guard profile == .modern else { continue }
            let archive = try ZipBundle.create(
                (0..<1000).map { (name: "\($0).p12", bytes: bytes) }, modified: certificate.notBefore)
            try Data(archive).write(to: URL(fileURLWithPath: "\(folder)/\(kind)_1000.zip"))
        }
    }
}
