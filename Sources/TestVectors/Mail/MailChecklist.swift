internal import Diagnostics
internal import Foundation
internal import KeySharing
internal import OpenSSL

/// A page for a tester with a phone: the keys, and one line with a checkbox for each test message.
///
/// The page is one HTML file without scripts or references. The font of the printed page shrinks with the number of
/// messages and keys, so that up to ``linesOnOneSheet`` of them fit on one sheet of A4 or Letter.
package struct MailChecklist: Sendable {
    /// The name of the page in the folder of the messages.
    package static let filename = "checklist.html"
    /// The largest number of messages and keys that are printed on one sheet.
    package static let linesOnOneSheet = 75

    private let mails: [TestMail]
    private let keys: [IdentitySummary]
    private let letters: [String: String]

    /// Creates the page for some messages.
    package init(_ mails: [TestMail]) {
        self.mails = mails
        var keys: [IdentitySummary] = []
        var letters: [String: String] = [:]
        for identity in mails.flatMap(\.recipients) + mails.compactMap(\.signer)
        where letters[identity.label] == nil {
            letters[identity.label] = Self.letter(keys.count)
            keys.append(identity)
        }
        self.keys = keys
        self.letters = letters
    }

    /// The page.
    package var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Messages that should open</title>
        <style>
        body { font: 15px/1.4 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
        table { border-collapse: collapse; width: 100%; }
        th, td { border-bottom: 1px solid #999; padding: .4em .6em; text-align: left; vertical-align: top; }
        td { overflow-wrap: anywhere; }
        .box { width: 1.6em; }
        @page { margin: 12mm; }
        @media print {
        body { font: \(printedSize)pt/1.2 system-ui, sans-serif; margin: 0; max-width: none; padding: 0; }
        h1 { font-size: 1.4em; margin: 0; } h2 { font-size: 1.1em; margin: .5em 0 0; } p { margin: .3em 0; }
        th, td { padding: .12em .4em; white-space: nowrap; } td:nth-child(3) { white-space: normal; } tr { break-inside: avoid; } thead { display: table-header-group; }
        }
        </style>
        </head>
        <body>
        <h1>Messages that should open</h1>
        <p>Send these \(counted(mails.count, "message", "messages")) to the phone, open each one, and tick it if it shows \
        the expected result. If a message does not open, the phone has none of the keys that open it.</p>
        <h2>Keys</h2>
        <table>
        <thead><tr><th></th><th>Person</th><th>Type</th><th>Serial number</th><th>Valid</th></tr></thead>
        <tbody>
        \(keys.map(row).joined(separator: "\n"))
        </tbody>
        </table>
        <h2>Messages</h2>
        <table>
        <thead><tr><th></th><th>Message</th><th>Opens with</th><th>Encryption</th><th>Expected result</th></tr></thead>
        <tbody>
        \(mails.map(row).joined(separator: "\n"))
        </tbody>
        </table>
        <p>Every message contains \u{201C}Gr\u{FC}\u{DF}e aus dem Testlabor\u{201D}. Its text names the serial numbers of \
        its keys.</p>
        </body>
        </html>

        """
    }

    /// The font size on paper, in points. A line of a table is 1.6 times as high, and the sheet has room for 680 points
    /// (240 mm). Headings and paragraphs take 12 lines.
    private var printedSize: Double {
        let lines = mails.count + keys.count + longLists + 12
        let size = min(8, 680 / (1.6 * Double(min(lines, Self.linesOnOneSheet + 12))))
        return (size * 10).rounded() / 10
    }

    /// The lines that long lists of keys take in addition.
    private var longLists: Int { mails.map { $0.recipients.count / 6 }.reduce(0, +) }

    private func row(_ mail: TestMail) -> String {
        let openers = mail.recipients.compactMap { letters[$0.label] }
        var results: [String] = []
        if !openers.isEmpty { results.append("opens, shown as encrypted") }
        if let signer = mail.signer.flatMap({ letters[$0.label] }) { results.append("signed by \(signer)") }
        let opening =
            openers.isEmpty ? "no key" : (openers.count > 1 ? "any of " : "") + openers.joined(separator: " ")
        // RSA keys encrypt the content key with this padding. Keys on curves use ECDH.
        let encryption = mail.cipher.map { "\($0.rawValue), \(mail.transport.rawValue)" } ?? "none"
        return "<tr><td class=\"box\">\u{2610}</td><td>\(mail.file.escapedInXML)</td><td>\(opening)</td>"
            + "<td>\(encryption)</td><td>\(results.joined(separator: "; "))</td></tr>"
    }

    /// A key as a phone shows it: the holder, the start of the serial number, and the validity.
    private func row(_ identity: IdentitySummary) -> String {
        func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
        let name = identity.details?.commonName ?? identity.details?.subject ?? identity.label
        let cells = [
            name, "\(identity.type(under: .keySharing2025))", "\(identity.serialNumber.prefix(12))\u{2026}",
            day(identity.notBefore) + (identity.details.map { " to \(day($0.notAfter))" } ?? ""),
        ]
        return "<tr><th scope=\"row\">\(letters[identity.label] ?? "")</th>"
            + cells.map { "<td>\($0.escapedInXML)</td>" }.joined() + "</tr>"
    }

    /// The name of a key in the page: A to Z, then AA to ZZ and so on.
    private static func letter(_ number: Int) -> String {
        let last = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(number % 26)))
        return number < 26 ? last : letter(number / 26 - 1) + last
    }
}
