internal import Diagnostics
internal import Foundation
internal import KeySharing

/// A page for a tester with a phone, with one line and a checkbox for each test message.
///
/// The page is one HTML file without scripts or references, and prints on sheets of paper.
package struct MailChecklist: Sendable {
    /// The name of the page in the folder of the messages.
    package static let filename = "checklist.html"

    private let mails: [TestMail]

    /// Creates the page for some messages.
    package init(_ mails: [TestMail]) {
        self.mails = mails
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
        .box { width: 1.6em; font-size: 1.3em; line-height: 1; }
        @media print { body { font-size: 10pt; margin: 0; max-width: none; } tr { break-inside: avoid; } thead { display: table-header-group; } }
        </style>
        </head>
        <body>
        <h1>Messages that should open</h1>
        <p>Send these \(mails.count) messages to the phone, open each one, and tick it if it shows the expected result. \
        A message that does not open lacks the named key.</p>
        <table>
        <thead><tr><th></th><th>Message</th><th>Needs the key</th><th>Expected result</th></tr></thead>
        <tbody>
        \(mails.map(Self.row).joined(separator: "\n"))
        </tbody>
        </table>
        <p>Every message begins with \u{201C}Gr\u{FC}\u{DF}e aus dem Testlabor\u{201D}. Its subject describes the message.</p>
        </body>
        </html>

        """
    }

    private static func row(_ mail: TestMail) -> String {
        let keys =
            mail.recipients.isEmpty
            ? "none" : mail.recipients.map(key).joined(separator: mail.recipients.count > 1 ? "<br>or " : "")
        var results: [String] = []
        if !mail.recipients.isEmpty { results.append("opens, shown as encrypted") }
        if let signer = mail.signer { results.append("signed by \(key(signer))") }
        return "<tr><td class=\"box\">\u{2610}</td><td>\(mail.file.escapedInXML)</td><td>\(keys)</td>"
            + "<td>\(results.joined(separator: "; "))</td></tr>"
    }

    /// A key as a phone shows it: the holder, the start of the serial number, and the validity.
    private static func key(_ identity: IdentitySummary) -> String {
        let name = identity.details?.commonName ?? identity.details?.subject ?? identity.label
        func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
        let end = identity.details.map { " to \(day($0.notAfter))" } ?? ""
        return
            "\(name), \(identity.type(under: .keySharing2025)) \(identity.serialNumber.prefix(12))\u{2026}, "
            .escapedInXML + "\(day(identity.notBefore))\(end)"
    }
}
