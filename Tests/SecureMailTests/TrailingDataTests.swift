import Foundation
import OpenSSL
import TestSupport
import Testing

@testable import SecureMail

@Suite("Data after CMS structures", .timeLimit(.minutes(10)))
struct TrailingDataTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// The DER of a message whose last part is Base64, and the text before and after it.
    private func divided(_ mail: [UInt8]) throws -> (start: String, der: [UInt8], end: String) {
        let text = String(decoding: mail, as: UTF8.self)
        let start = try #require(text.range(of: "\r\n\r\n", options: .backwards)?.upperBound)
        let end = text.range(of: "--", range: start..<text.endIndex)?.lowerBound ?? text.endIndex
        let der = try #require(
            Data(base64Encoded: String(text[start..<end]), options: .ignoreUnknownCharacters))
        return (String(text[..<start]), Array(der), String(text[end...]))
    }

    @Test("Data after the CMS structure makes a message malformed, because a mail program could show it")
    func data() throws {
        for mail in [try signed(body), try encrypted(body)] {
            let (start, der, end) = try divided(mail)
            for rest in ["<html>", "\r\n<", String(repeating: "<b>evil", count: 20_000)] {
                let base64 = Array(start.utf8) + MailText.base64(der + Array(rest.utf8)) + Array(end.utf8)
                #expect(throws: CMSError(.malformed, "")) { try open(base64) }
                let plain = start.replacing("Encoding: base64", with: "Encoding: binary")
                let binary = Array(plain.utf8) + der + Array((rest + "\r\n" + end).utf8)
                #expect(throws: CMSError(.malformed, "")) { try open(binary) }
            }
            let double = Array(start.utf8) + MailText.base64(der + der) + Array(end.utf8)
            #expect(throws: CMSError(.malformed, "")) { try open(double) }
        }
        let (_, der, _) = try divided(try encrypted(body))
        #expect(throws: CMSError(.malformed, "")) { try open(der + [0x41]) }
    }

    @Test("Line ends, blanks and zeros may follow the CMS structure")
    func blanks() throws {
        for mail in [try signed(body), try encrypted(body)] {
            let (start, der, end) = try divided(mail)
            for rest: [UInt8] in [
                [], [0x0D, 0x0A], [0x0A, 0x0A], [0x20, 0x09], [UInt8](repeating: 0, count: 9),
            ] {
                let base64 = Array(start.utf8) + MailText.base64(der + rest) + Array(("\r\n\r\n" + end).utf8)
                #expect(try content(try open(base64)) == body)
                let plain = start.replacing("Encoding: base64", with: "Encoding: binary")
                let binary = Array(plain.utf8) + der + rest + Array(("\r\n" + end).utf8)
                #expect(try content(try open(binary)) == body)
            }
        }
        let (_, der, _) = try divided(try encrypted(body))
        #expect(try content(try open(der + [0x0A])) == body)
    }
}
