import CommandSupport
import Foundation
import FoundationXML
import KeyShareConsumerCommand
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Paths as graphs and as trees", .timeLimit(.minutes(10)))
struct PathGraphTests {
    /// Names that contain markup, quotation marks or terminal control characters.
    private static let names = [
        #"</text><script>alert("1")</script>"#, #""]; evil [label=""#, #"back\slash\"#, "&amp; ]]> <!--",
        "two\nlines", "\u{202E}reversed\u{1B}[31m",
    ]
    private static let now = Date(timeIntervalSince1970: 1_733_184_000)

    /// Validates a certificate with this name, which is also the name of its anchor.
    private static func validation(_ name: String) throws -> PathValidation {
        func template(_ subject: String, _ serial: UInt8) throws -> CertificateTemplate {
            CertificateTemplate(
                subject: try DistinguishedName([.init("O", "Graphs"), .init("CN", subject)]),
                serialNumber: [serial], notBefore: now - 86_400, notAfter: now + 86_400)
        }
        let key = try PrivateKey.generate(.p256)
        var root = try template("Root \(name)", 1)
        root.basicConstraints = .init(isCertificateAuthority: true)
        let issuer = try CertificateIssuer(selfSigned: root, privateKey: key)
        let leaf = try issuer.issue(template(name, 2), to: key)
        let validator = PathValidator(
            CertificateVerifier(), pool: CertificatePool(trusted: [issuer.certificate], untrusted: []))
        return validator.validate(leaf, at: now)
    }

    private static func graph() throws -> PathGraph {
        var graph = PathGraph()
        for name in names { graph.add(try validation(name)) }
        return graph
    }

    /// Collects the elements and the text of a document.
    private final class Reader: NSObject, XMLParserDelegate {
        var elements: Set<String> = []
        var text = ""

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
            qualifiedName: String?, attributes: [String: String]
        ) { elements.insert(name) }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
    }

    @Test("A name that contains markup remains text in SVG")
    func svg() throws {
        let reader = Reader()
        let parser = XMLParser(data: Data(try Self.graph().svg.utf8))
        parser.delegate = reader
        #expect(parser.parse())
        #expect(reader.elements == ["svg", "title", "defs", "marker", "rect", "path", "g", "text"])
        for name in Self.names.prefix(4) { #expect(reader.text.contains(name), "\(name)") }
        #expect(!reader.text.unicodeScalars.contains("\u{202E}"))
        #expect(!reader.text.unicodeScalars.contains("\u{1B}"))
    }

    @Test("A name that contains markup remains inside its quotation marks in DOT")
    func dot() throws {
        let lines = try Self.graph().dot.split(separator: "\n")
        // One line for each node and each edge, and five others: the start, three settings and the end.
        #expect(lines.count == 5 + 3 * Self.names.count)
        for line in lines.dropFirst(4).dropLast() {
            let plain = line.replacing(#/\\./#, with: "")
            #expect(plain.count { $0 == "\"" }.isMultiple(of: 2), "\(line)")
            let outside = plain.replacing(#/"[^"]*"/#, with: "_")
            let isNode = outside.wholeMatch(
                of: #/  n\d+ \[label=_, color=_, fillcolor=_(, penwidth=3)?\];/#)
            let isEdge = outside.wholeMatch(of: #/  n\d+ -> n\d+ \[color=_, (penwidth=2|style=dashed)\];/#)
            #expect(isNode != nil || isEdge != nil, "\(line)")
        }
    }

    /// Validates a leaf whose issuer has three certificates. If `isKnown` is true, the pool contains an expired
    /// certificate and a constrained one; otherwise it contains only one with a different key.
    private static func several(isKnown: Bool = true) throws -> PathValidation {
        func template(_ subject: String, _ serial: UInt8) throws -> CertificateTemplate {
            var template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", subject)]), serialNumber: [serial],
                notBefore: now - 86_400, notAfter: now + 86_400)
            template.basicConstraints = .init(isCertificateAuthority: true)
            return template
        }
        let key = try PrivateKey.generate(.p256)
        let root = try CertificateIssuer(selfSigned: template("Root", 1), privateKey: key)
        var expired = try template("Authority", 0x2A)
        expired.notAfter = now - 1
        var constrained = try template("Authority", 0x2B)
        constrained.permittedNames = [.dNSName("good.example")]
        let own = try PrivateKey.generate(.p256)
        let other = try root.issue(template("Authority", 0x2C), to: PrivateKey.generate(.p256))
        let authorities = [try root.issue(expired, to: own), try root.issue(constrained, to: own)]
        var leaf = try template("Leaf", 3)
        leaf.basicConstraints = nil
        leaf.subjectAlternativeNames = [.dNSName("evil.example")]
        let issuer = CertificateIssuer(certificate: authorities[0], privateKey: own)
        let validator = PathValidator(
            CertificateVerifier(),
            pool: CertificatePool(trusted: [root.certificate], untrusted: isKnown ? authorities : [other]))
        return validator.validate(try issuer.issue(leaf, to: key), at: now)
    }

    @Test(
        "Authorities with the same name show serial number and key, and edges of failed paths show the reason"
    )
    func reasons() throws {
        var graph = PathGraph()
        graph.add(try Self.several())
        for text in [graph.dot, graph.svg] {
            #expect(text.contains("serial 2A, key ") && text.contains("serial 2B, key "))
            #expect(!text.contains("serial 01, key ") && !text.contains("serial 03, key "))
        }
        let edges = graph.dot.split(separator: "\n").filter { $0.contains(" -> ") && $0.contains("dashed") }
        #expect(edges.contains { $0.contains("label=\"") && $0.contains("expired") }, "\(edges)")
        #expect(graph.svg.contains("expired</text></g>"), "\(graph.svg)")
    }

    @Test("Identities with the same name show no serial number, even if their issuers do")
    func namesakes() throws {
        var graph = PathGraph()
        for _ in 1...2 { graph.add(try Self.validation("Person")) }
        #expect(graph.dot.contains("serial 01, key ") && !graph.dot.contains("serial 02, key "))
    }

    @Test("An edge with a wrong key has a different style")
    func wrongKey() throws {
        var graph = PathGraph()
        graph.add(try Self.several(isKnown: false))
        #expect(graph.dot.contains("style=dotted, penwidth=2, label=\"wrong key\""))
        #expect(graph.svg.contains(">wrong key</text>"))
        #expect(graph.svg.contains("stroke-dasharray=\"1 4\""))
    }

    @Test("Every edge has an arrowhead in front of the boxes")
    func arrowheads() throws {
        var graph = PathGraph()
        graph.add(try Self.several())
        let lines = graph.svg.split(separator: "\n")
        let edges = lines.indices.filter { lines[$0].contains("fill=\"none\"") }
        let lastBox = try #require(lines.lastIndex { $0.hasPrefix("<rect x=") })
        #expect(!edges.isEmpty)
        #expect(edges.allSatisfy { lines[$0].contains("marker-end=\"url(#arrow-") && $0 > lastBox })
    }

    @Test("A FIFO is neither read nor replaced")
    func fifo() throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/paths.svg"
        #expect(unsafe mkfifo(path, 0o600) == 0)
        // Write bytes that would make the FIFO look like an earlier drawing.
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        defer { try? handle.close() }
        try handle.write(contentsOf: Data("<title>Certification paths</title>".utf8))
        var graph = PathGraph()
        graph.add(try Self.several())
        #expect(throws: CommandFailure.self) { try graph.draw(into: path) }
        var status = stat()
        #expect(unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("An earlier drawing is replaced, and a file from another source is not")
    func replacement() throws {
        let folder = try ScratchFolder()
        var graph = PathGraph()
        graph.add(try Self.several())
        for name in ["paths.svg", "paths.dot"] {
            try graph.draw(into: folder.path + "/" + name)
            try graph.draw(into: folder.path + "/" + name)
        }
        try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.path + "/own.svg"))
        #expect(throws: CommandFailure.self) { try graph.draw(into: folder.path + "/own.svg") }
    }

    @Test("Long text is wrapped into a few lines of its box")
    func longTexts() throws {
        var graph = PathGraph()
        graph.add(try Self.validation("Person " + String(repeating: "of a long name ", count: 3)))
        let lines = graph.svg.split(separator: "\n").filter { $0.hasPrefix("<text") }
        // The name and the validity period of both certificates, and a second line for the anchor's name.
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { ($0.split(separator: ">").last?.count ?? 0) <= 68 })
    }

    @Test("The tree fits the given width", arguments: [40, 80])
    func tree(width: Int) throws {
        for name in Self.names {
            let tree = PathTree(try Self.validation(name))
            let lines = tree.lines(fitting: width)
            #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
            #expect(lines.count > tree.lines(fitting: nil).count || width == 80)
        }
    }
}
