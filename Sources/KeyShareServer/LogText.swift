internal import Diagnostics

/// Words of a peer made fit for a log: short, and without anything that could pass for another line.
enum LogText {
    /// At most 96 characters of `text`, with those that may steer a terminal spelled as `\u{1B}`.
    static func of(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(96))).visible
    }

    /// What is asked, and of which item.
    static func of(_ work: SessionWork) -> String {
        switch work {
        case .page(let container, _, let limit): "page of \(of(container)), \(limit)"
        case .item(let identifier): "item \(of(identifier))"
        case .services(let identifier): "services of \(of(identifier))"
        case .grant(let identifier): "grant of \(of(identifier))"
        case .content(let identifier): "content of \(of(identifier))"
        case .present(let types, _, _): "rows for \(types.count) types"
        case .choose(let row, _): "export of \(of(row))"
        case .facts(_, let limit): "identity facts, \(limit)"
        }
    }
}
