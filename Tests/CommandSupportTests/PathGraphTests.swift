import CommandSupport
import Foundation
import FoundationXML
import OpenSSL
import PathValidation
import Testing

@Suite("Paths, drawn and as a tree")
struct PathGraphTests {
    /// Names that are markup, or end the text they stand in, or steer a terminal.
    private static let names = [
        #"</text><script>alert("1")</script>"#, #""]; evil [label=""#, #"back\slash\"#, "&amp; ]]> <!--",
        "two\nlines", "\u{202E}reversed\u{1B}[31m",
    ]
    private static let now = Date(timeIntervalSince1970: 1_733_184_000)

    /// The validation of a certificate with this name, by an anchor that has the name too.
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

    @Test("A name that is markup stays text in SVG")
    func svg() throws {
        let reader = Reader()
        let parser = XMLParser(data: Data(try Self.graph().svg.utf8))
        parser.delegate = reader
        #expect(parser.parse())
        #expect(reader.elements == ["svg", "title", "rect", "path", "g", "text"])
        for name in Self.names.prefix(4) { #expect(reader.text.contains(name), "\(name)") }
        #expect(!reader.text.unicodeScalars.contains("\u{202E}"))
        #expect(!reader.text.unicodeScalars.contains("\u{1B}"))
    }

    @Test("A name that is markup stays inside its quotation marks in DOT")
    func dot() throws {
        let lines = try Self.graph().dot.split(separator: "\n")
        // A line for each node and each edge, one each for start, two settings and end.
        #expect(lines.count == 4 + 3 * Self.names.count)
        for line in lines.dropFirst(3).dropLast() {
            let plain = line.replacing(#/\\./#, with: "")
            #expect(plain.count { $0 == "\"" }.isMultiple(of: 2), "\(line)")
            let outside = plain.replacing(#/"[^"]*"/#, with: "_")
            let isNode = outside.wholeMatch(
                of: #/  n\d+ \[label=_, color=_, fillcolor=_(, penwidth=3)?\];/#)
            let isEdge = outside.wholeMatch(of: #/  n\d+ -> n\d+ \[color=_, (penwidth=2|style=dashed)\];/#)
            #expect(isNode != nil || isEdge != nil, "\(line)")
        }
    }

    @Test("A long text goes on in further lines of its box, a few at most")
    func longTexts() throws {
        var graph = PathGraph()
        graph.add(try Self.validation("Person " + String(repeating: "of a long name ", count: 3)))
        let lines = graph.svg.split(separator: "\n").filter { $0.hasPrefix("<text") }
        // Name and validity of either, and a second line for the anchor's name.
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { ($0.split(separator: ">").last?.count ?? 0) <= 68 })
    }

    @Test("The tree fits the columns that it is given", arguments: [40, 80])
    func tree(width: Int) throws {
        for name in Self.names {
            let tree = PathTree(try Self.validation(name))
            let lines = tree.lines(fitting: width)
            #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
            #expect(lines.count > tree.lines(fitting: nil).count || width == 80)
        }
    }
}
