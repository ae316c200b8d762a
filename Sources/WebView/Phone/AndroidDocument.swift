internal import CommandSupport
internal import DeviceSimulation
internal import Foundation
internal import KeySharing
internal import OpenSSL

/// The part of the state that the page shows for an Android phone: KeyChain, the user's decisions, and the app's
/// requests.
struct AndroidDocument: Encodable {
    /// An entry of KeyChain, with the explanation of its type.
    struct Entry: Encodable, Sendable {
        /// The name of the entry.
        let alias: String
        /// The algorithm of the key: `RSA` or `EC`.
        let keyType: String
        let subject: String
        let person: String?
        let serial: String
        let notBefore: Date
        let notAfter: Date
        /// The types under every mechanism, with the rules that assigned them.
        let classification: ClassificationDocument.Row

        /// Creates the description of an entry; nil if its certificate cannot be read. Queries also omit such entries.
        init?(_ entry: KeyChainEntry) {
            guard let known = AliasEntriesDocument.Entry(entry),
                let certificate = try? Certificate(der: entry.certificate)
            else { return nil }
            (alias, keyType, subject) = (known.alias, known.keyType, known.subject)
            (person, serial) = (known.person, known.serial)
            (notBefore, notAfter) = (known.notBefore, known.notAfter)
            classification = ClassificationDocument.Row(known.alias, certificate)
        }
    }

    /// A dialog of the system that waits for the user.
    struct Dialog: Encodable {
        /// An entry that KeyChain's chooser offers.
        struct Offer: Encodable {
            let alias: String
            /// The subject of the certificate; empty if the entry no longer exists.
            let subject: String
        }

        /// The number that identifies the dialog in the answer.
        let number: Int
        /// The kind: `read-alias` or `choose-key`.
        let kind: String
        /// The name of the app that asks.
        let app: String
        let offered: [Offer]
        let preselected: String?
        let host: String?
        let port: UInt16?

        init(_ pending: UserPresence.PendingDialog, subjects: [String: String]) {
            let dialog = pending.dialog
            (number, kind, app) = (pending.number, dialog.kind.rawValue, dialog.app)
            offered = dialog.offered.map { Offer(alias: $0, subject: subjects[$0] ?? "") }
            (preselected, host, port) = (dialog.preselected, dialog.host, dialog.port)
        }
    }

    /// The entries of KeyChain, sorted by alias.
    let entries: [Entry]
    /// The total number of entries, which may be more than `entries` contains.
    let count: Int
    /// The user's decisions about each app.
    let apps: [AliasesDocument.App]
    /// The dialogs that wait for the user, oldest first.
    let dialogs: [Dialog]
    /// The requests that pages have sent as the app, oldest first.
    let requests: [AliasJob]
    /// The reason why KeyChain or the decisions cannot be read, or nil.
    let failure: FailureDocument.Body?
}

/// A request of an Android app that a page has sent.
struct AliasJob: Encodable, Sendable {
    /// The kinds of requests.
    enum Kind: String, Encodable, Sendable {
        /// A query of the content provider.
        case query
        /// A request for a key, which opens KeyChain's chooser.
        case choose
    }

    /// The number that identifies the request.
    let number: Int
    let kind: Kind
    /// The equivalent command line.
    let command: String
    /// The contents of the request, with which the page repeats it.
    let again: AliasRequest
    /// Whether the request has ended.
    var isOver = false
    /// The columns of the result, in the provider's order.
    var columns: [String] = []
    /// The first rows of the result.
    var rows: [[String]] = []
    /// The total number of rows.
    var count = 0
    /// The aliases whose keys the user granted.
    var aliases: [String] = []
    /// Why the request failed, or nil.
    var failure: FailureDocument.Body?
}

/// A request of an Android app, as the page sends it.
struct AliasRequest: Codable, Sendable {
    /// The columns of a query.
    var columns: [String]?
    /// The alias that the chooser preselects.
    var alias: String?
    /// The purpose whose recommended alias the chooser preselects.
    var purpose: AliasPick.Purpose?
    /// The acceptable key types; nil or empty for all.
    var keyTypes: [String]?
    /// The host that the chooser shows.
    var host: String?
    /// The port of the host.
    var port: UInt16?
}

extension AliasPick.Purpose: Codable {}
