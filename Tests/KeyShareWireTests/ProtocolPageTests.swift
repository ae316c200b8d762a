import Foundation
import KeyShareProtocol
import KeyShareWire
import KeySharing
import NIOCore
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@Suite("Frames on the protocol page", .timeLimit(.minutes(10)))
struct ProtocolPageTests {
    /// The bytes of every block that is marked as a frame, keyed by the block's name.
    private func frames() throws -> [String: [UInt8]] {
        let path = PackageFolder.path + "/Sources/KeyShareWire/KeyShareWire.docc/Protocol.md"
        var frames: [String: [UInt8]] = [:]
        var name: String?
        for indented in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let line = indented.drop { $0 == " " }
            if line.hasPrefix("```frame ") {
                name = String(line.dropFirst("```frame ".count))
            } else if line.hasPrefix("```") {
                name = nil
            } else if let name {
                // An explanation follows two or more spaces.
                let digits = (line.range(of: "  ").map { line[..<$0.lowerBound] } ?? line).filter {
                    $0 != " "
                }
                frames[name, default: []] += try Self.bytes(of: digits)
            }
        }
        return frames
    }

    private static func bytes(of digits: String) throws -> [UInt8] {
        try stride(from: 0, to: digits.count, by: 2).map { offset in
            let start = digits.index(digits.startIndex, offsetBy: offset)
            return try #require(UInt8(digits[start...].prefix(2), radix: 16), "\(digits)")
        }
    }

    @Test("The frames in the page's byte dumps match the frames that the code encodes")
    func frameBytes() throws {
        let frames = try frames()
        #expect(
            Set(frames.keys) == [
                "hello", "welcome", "hello-2", "welcome-2", "enumerate", "page", "use", "used", "refused-use",
                "alias-query", "alias-page", "alias-choose", "alias-chosen",
            ])
        let use = TokenUse(
            objectID: WireSamples.identifier, .ecdsaSignatureX962(.message, .sha256), data: Array("abc".utf8))
        #expect(
            try WireSamples.bytes(ProviderRequest.use(use), id: 5) == frames["use"])
        let signature: [UInt8] = [0x30, 6, 2, 1, 0x11, 2, 1, 0x22]
        #expect(try WireSamples.bytes(.used(SecretBytes(signature)), id: 5) == frames["used"])
        let refusal = TokenError(.authenticationNeeded, "the device is locked", obstacle: .deviceLocked)
        #expect(try WireSamples.bytes(.tokenFailure(refusal), id: 5) == frames["refused-use"])
        let services = [PasswordService.name]
        let hello = ProviderRequest.hello(
            Hello(minimumVersion: 1, maximumVersion: 1, clientName: "consumer", services: services))
        #expect(try WireSamples.bytes(hello, id: 1) == frames["hello"])
        #expect(
            try WireSamples.bytes(
                ProviderReply.welcome(
                    Welcome(version: 1, serverName: "keyshare-provider", services: services)), id: 1)
                == frames["welcome"])
        let newer = ProviderRequest.hello(
            Hello(minimumVersion: 1, maximumVersion: 2, clientName: "consumer", services: services))
        #expect(try WireSamples.bytes(newer, id: 1) == frames["hello-2"])
        let featured = Welcome(
            version: 2, serverName: "keyshare-provider", services: services,
            requestLimit: Wire.longRequestLimit, features: Wire.Feature.all)
        #expect(try WireSamples.bytes(ProviderReply.welcome(featured), id: 1) == frames["welcome-2"])
        #expect(
            try WireSamples.bytes(ProviderRequest.enumerate(container: "root", cursor: nil, limit: 0), id: 2)
                == frames["enumerate"])
        let folder = Item(
            identifier: "PIV", filename: "PIV", kind: .folder,
            contentType: "purebred2025.select.authentication", parent: "root", size: nil,
            created: Date(timeIntervalSince1970: 1_772_323_200))
        #expect(
            try WireSamples.bytes(ProviderReply.page(ItemPage(items: [folder], nextCursor: nil)), id: 2)
                == frames["page"])
    }

    @Test("The frames about aliases in the page's byte dumps match the frames that the code encodes")
    func aliasFrameBytes() throws {
        let frames = try frames()
        let (app, alias) = ("com.example.mail", "Purebred Recovered #1")
        let query = ProviderRequest.aliasQuery(AliasQueryRequest(app: app, columns: ["alias", "type"]))
        #expect(try WireSamples.bytes(query, id: 2) == frames["alias-query"])
        let page = AliasPage(
            changeCount: 7, columns: ["alias", "type"], rows: [[alias, "Encryption"]], nextCursor: nil)
        #expect(try WireSamples.bytes(.aliases(page), id: 2) == frames["alias-page"])
        let choice = ProviderRequest.aliasChoose(
            AliasChoiceRequest(app: app, alias: alias, keyTypes: ["RSA"]))
        #expect(try WireSamples.bytes(choice, id: 3) == frames["alias-choose"])
        #expect(
            try WireSamples.bytes(.aliasChosen(AliasChoice(alias: alias, reason: nil)), id: 3)
                == frames["alias-chosen"])
    }

    @Test("The page lists every token error code with its status, and every refusal reason")
    func tokenFailures() throws {
        let path = PackageFolder.path + "/Sources/KeyShareWire/KeyShareWire.docc/Protocol.md"
        let lines = Set(
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init))
        for code in TokenError.Code.allCases {
            let status = TokenError(code, "").status
            let row = "| \(code.rawValue) | \(code) | \(status.rawValue) \(status.name) |"
            #expect(lines.contains(row), "\(row)")
        }
        for obstacle in TokenRefusalReason.allCases {
            #expect(lines.contains { $0.hasPrefix("| \(obstacle.rawValue) | ") }, "\(obstacle)")
        }
        #expect(lines.contains { $0.hasPrefix("| \(Wire.tokenFailureCode) | ") })
    }

    @Test("The page lists every message type in hexadecimal digits")
    func types() throws {
        let path = PackageFolder.path + "/Sources/KeyShareWire/KeyShareWire.docc/Protocol.md"
        let page = try String(contentsOfFile: path, encoding: .utf8)
        for type in Wire.MessageType.allCases {
            #expect(page.contains("| \(String(format: "%02X", type.rawValue)) |"), "\(type)")
        }
    }
}
