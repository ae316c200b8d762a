import Foundation
import OpenSSL
import PathValidation
import Testing

/// A public-key infrastructure of authorities that certify each other across bridges, generated from a seed.
///
/// A tree of valid certificates leads from the anchor to each authority. A mesh of cross-certificates adds dead ends:
/// expired certificates, path lengths that are too short, constraints to other names, revoked certificates, signatures
/// by another authority's key, and untrusted roots. Valid cross-certificates back up to the bridges create cycles.
struct BridgePKI {
    /// An authority in the tree.
    struct Node {
        let name: String
        let key: PrivateKey
        /// The domain to which the tree's certificates constrain names; nil above the principals.
        let domain: String?
        let depth: Int
        var certificate: Certificate

        var issuer: CertificateIssuer { CertificateIssuer(certificate: certificate, privateKey: key) }
    }

    private(set) var nodes: [Node] = []
    private(set) var certificates: [Certificate] = []
    private(set) var lists: [EncodedRevocationList] = []
    /// Authorities that no valid certificate leads to.
    private(set) var islands: [Node] = []

    private var generator: SeededGenerator
    private var serial = 100
    private var revoked: [Int: [[UInt8]]] = [:]

    var anchor: Certificate { nodes[0].certificate }
    /// Authorities that certify users.
    var issuers: [Node] { nodes.filter { $0.domain != nil } }

    init(authorities count: Int, seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        let root = try TestAuthority.root("Common Policy")
        nodes.append(
            Node(name: "Common Policy", key: root.key, domain: nil, depth: 0, certificate: root.certificate))
        for index in 1...4 { try grow("Bridge \(index)", under: 0, domain: nil) }
        for index in 5..<65 {
            try grow(
                "Principal \(index)", under: Int.random(in: 1...4, using: &generator),
                domain: "p\(index).example")
        }
        while nodes.count < count {
            let parents = nodes.indices.filter { nodes[$0].domain != nil && nodes[$0].depth < 5 }
            guard let parent = parents.randomElement(using: &generator) else { break }
            try grow("Subordinate \(nodes.count)", under: parent, domain: nodes[parent].domain)
        }
        certificates += nodes.dropFirst().map(\.certificate)
        for index in nodes.indices.dropFirst(5) {
            for _ in 0..<4 { try addWrongTurn(to: index) }
            if index.isMultiple(of: 3) { try addCycle(from: index) }
        }
        for index in 0..<10 {
            let key = try PrivateKey.generate(.p256)
            let own = try TestAuthority.root("Island \(index)", key: key)
            islands.append(
                Node(name: "Island \(index)", key: key, domain: nil, depth: 0, certificate: own.certificate))
            certificates.append(own.certificate)
            for _ in 0..<3 {
                certificates.append(
                    try certify(islands[index], by: Int.random(in: 0..<count, using: &generator)) {
                        $0.notAfter = TestAuthority.now - 1
                    })
            }
        }
        certificates.shuffle(using: &generator)
    }

    /// A user's certificate from one of the authorities. `change` makes it invalid.
    mutating func user(
        _ number: Int, under node: Node, _ change: (inout CertificateTemplate) -> Void = { _ in }
    ) throws -> Certificate {
        let template = try TestAuthority.template("User \(number)", serial: nextSerial(), isAuthority: false)
        {
            $0.subjectAlternativeNames = [.rfc822Name("u\(number)@\(node.domain ?? "nowhere.example")")]
            change(&$0)
        }
        return try node.issuer.issue(template, to: TestAuthority.leafKey)
    }

    mutating func revoke(_ serial: [UInt8], of node: Node) {
        guard let index = nodes.firstIndex(where: { $0.name == node.name }) else { return }
        revoked[index, default: []].append(serial)
    }

    /// Generates every authority's list. Call it after the last revocation.
    mutating func publish() throws {
        lists = try nodes.indices.map { index in
            try TestAuthority(issuer: nodes[index].issuer).list(
                (revoked[index] ?? []).map { TestAuthority.entry($0) })
        }
    }

    private mutating func grow(_ name: String, under parent: Int, domain: String?) throws {
        let key = try PrivateKey.generate(.p256)
        let isPrincipal = domain != nil && nodes[parent].domain == nil
        var node = Node(
            name: name, key: key, domain: domain, depth: nodes[parent].depth + 1,
            certificate: nodes[parent].certificate)
        node.certificate = try certify(node, by: parent) {
            if isPrincipal, let domain { $0.permittedNames = [.rfc822Name(domain)] }
        }
        nodes.append(node)
    }

    private mutating func certify(
        _ node: Node, by issuer: Int, key: PrivateKey? = nil,
        _ change: (inout CertificateTemplate) -> Void = { _ in }
    ) throws -> Certificate {
        let template = try TestAuthority.template(node.name, serial: nextSerial(), isAuthority: true) {
            change(&$0)
        }
        return try CertificateIssuer(
            certificate: nodes[issuer].certificate, privateKey: key ?? nodes[issuer].key
        )
        .issue(template, to: node.key)
    }

    private mutating func addWrongTurn(to index: Int) throws {
        let node = nodes[index]
        // The dead end is more attractive if its issuer is nearer to the anchor.
        let issuer = Int.random(in: 0..<max(5, index / 2), using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: certificates.append(try certify(node, by: issuer) { $0.notAfter = TestAuthority.now - 1 })
        case 1: certificates.append(try certify(node, by: issuer) { $0.notBefore = TestAuthority.now + 60 })
        case 2:
            certificates.append(
                try certify(node, by: issuer) { $0.permittedNames = [.rfc822Name("x.example")] })
        case 3: certificates.append(try certify(node, by: issuer, key: TestAuthority.leafKey))
        case 4:
            let certificate = try certify(node, by: issuer)
            revoked[issuer, default: []].append(certificate.serialNumber)
            certificates.append(certificate)
        default:
            let root = try TestAuthority.root("Old Root \(index)")
            certificates.append(root.certificate)
            certificates.append(
                try root.authority(node.name, key: node.key, serial: nextSerial()).certificate)
        }
    }

    private mutating func addCycle(from index: Int) throws {
        let target = Int.random(in: 1...4, using: &generator)
        // This path is valid only for names in the principal's own domain.
        certificates.append(try certify(nodes[target], by: index))
    }

    private mutating func nextSerial() -> [UInt8] {
        serial += 1
        return [UInt8(serial >> 16 & 0xFF), UInt8(serial >> 8 & 0xFF), UInt8(serial & 0xFF)].drop { $0 == 0 }
            .map(\.self)
    }
}

@Suite("A bridge of 300 authorities", .timeLimit(.minutes(10)))
struct BridgeTests {
    @Test(
        "Valid paths are found for all 500 valid users and for none of 200 invalid users",
        .timeLimit(.minutes(10)))
    func users() throws {
        var bridge = try BridgePKI(authorities: 300, seed: 0xB21D6E)
        let issuers = bridge.issuers
        let valid = try (0..<500).map { try bridge.user($0, under: issuers[$0 % issuers.count]) }
        var invalid: [Certificate] = []
        for number in 0..<50 {
            let issuer = issuers[number * 7 % issuers.count]
            invalid.append(
                try bridge.user(1000 + number, under: issuer) { $0.notAfter = TestAuthority.now - 1 })
            invalid.append(
                try bridge.user(2000 + number, under: issuer) {
                    $0.subjectAlternativeNames = [.rfc822Name("user@elsewhere.example")]
                })
            let revoked = try bridge.user(3000 + number, under: issuer)
            bridge.revoke(revoked.serialNumber, of: issuer)
            invalid.append(revoked)
            invalid.append(try bridge.user(4000 + number, under: bridge.islands[number % 10]))
        }
        try bridge.publish()
        let trial = Trial(trusted: [bridge.anchor], untrusted: bridge.certificates, lists: bridge.lists)
        let validator = trial.validator
        var times: [Duration] = []
        var most = 0
        for leaf in valid {
            var result: PathValidation?
            times.append(
                ContinuousClock().measure { result = validator.validate(leaf, at: TestAuthority.now) })
            most = max(most, result?.attempts.count ?? 0)
            #expect(result?.isValid == true, "\(leaf): \(String(describing: result?.end))")
        }
        report("valid", times, most)
        times = []
        most = 0
        for leaf in invalid {
            var result: PathValidation?
            times.append(
                ContinuousClock().measure { result = validator.validate(leaf, at: TestAuthority.now) })
            most = max(most, result?.attempts.count ?? 0)
            #expect(result?.isValid == false, "\(leaf)")
        }
        report("invalid", times, most)
        // A new validator has empty caches.
        times = valid.prefix(20).map { leaf in
            ContinuousClock().measure { _ = trial.validator.validate(leaf, at: TestAuthority.now) }
        }
        report("valid, each with a new validator", times, 0)
    }

    private func report(_ name: String, _ times: [Duration], _ candidates: Int) {
        let total = times.reduce(.zero, +)
        print(
            "\(name): \(times.count) users, mean \(total / times.count), longest \(times.max() ?? .zero), "
                + "at most \(candidates) paths tried")
    }
}
