internal import Diagnostics
package import Foundation
internal import TestVectors

extension ConformanceReport {
    /// The report as one HTML page without external references, for phones, screens and paper.
    ///
    /// - Parameters:
    ///   - date: The time of the run.
    ///   - file: Returns the bytes of a result's file, or nil if the result has no file. Files up to ``largestDataURL``
    ///     can be saved from the page.
    package func html(date: Date, file: (Result) -> [UInt8]?) -> String {
        let failed = worstFirst.filter { $0.verdict != .pass }
        let passed = results.filter { $0.verdict == .pass }
        let counts = Verdict.allCases.reversed().compactMap { verdict in
            summary[verdict.rawValue].map {
                "<li class=\"\(Self.style(verdict))\"><b>\($0)</b> \(verdict.rawValue)</li>"
            }
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <link rel="icon" href="data:,">
            <title>Conformance: \(title)</title>
            <style>\(Self.styles)</style>
            </head>
            <body>
            <header>
            <h1>Conformance of a consumer</h1>
            <p><code>\(consumer.joined(separator: " ").escapedInXML)</code></p>
            <p>\(counted(results.count, "test vector", "test vectors")), \(date.formatted(.iso8601)), claims: \(claims.rawValue).</p>
            <ul class="counts">\(counts.joined())</ul>
            \(baseline.map(Self.paragraph) ?? "")
            </header>
            <main>
            \(failed.isEmpty ? "<p class=\"good\">Every test vector passes.</p>" : "<h2>Test vectors that do not pass</h2>")
            \(failed.map { Self.article($0, file: file($0)) }.joined(separator: "\n"))
            \(passed.isEmpty ? "" : Self.passes(passed))
            </main>
            </body>
            </html>

            """
    }

    /// Returns the HTML paragraph that compares the run with the baseline.
    private static func paragraph(_ baseline: BaselineSummary) -> String {
        let lists = [
            ("Better than the baseline", baseline.better), ("Worse than the baseline", baseline.worse),
            ("In the baseline, but not a test vector", baseline.gone),
        ]
        let lines = lists.filter { !$0.1.isEmpty }.map {
            "<br>\($0.0): \($0.1.joined(separator: ", ").escapedInXML)."
        }
        return "<p>Known deviations: \(baseline.known).\(lines.joined())</p>"
    }

    /// The maximum size of a file that is embedded in the page, in bytes.
    package static let largestDataURL = 64 << 10

    private var title: String {
        (consumer.first?.split(separator: "/").last.map(String.init) ?? "a consumer").escapedInXML
    }

    private static func style(_ verdict: Verdict) -> String {
        switch verdict {
        case .pass: "good"
        case .notRun: "open"
        case _ where verdict.isError: "worst"
        default: "bad"
        }
    }

    private static func article(_ result: Result, file: [UInt8]?) -> String {
        var rows = [
            ("Seen", result.seen),
            ("Expected", "\(result.expected.text): a correct consumer \(result.behaviour)."),
            ("Why", result.why), ("What to do", result.verdict.advice),
        ]
        if result.isKnown {
            rows.insert(("Known", result.baseline?.reason ?? "listed in the baseline"), at: 0)
        }
        if result.seconds > 0 { rows.append(("Time", "\(result.seconds) s")) }
        let fields = rows.map { "<dt>\($0.0)</dt><dd>\($0.1.escapedInXML)</dd>" }.joined()
        let errors =
            result.stderr.isEmpty
            ? ""
            : "<details><summary>Standard error</summary><pre>\(result.stderr.escapedInXMLKeepingLineFeeds)</pre></details>"
        return """
            <article class="\(result.isKnown ? "open" : style(result.verdict))" id="\(result.name.escapedInXML)">
            <h3>\(result.name.escapedInXML) <span class="verdict">\(result.verdict.rawValue)</span>\(result.isKnown ? " (known)" : "")</h3>
            <p>\(result.description.escapedInXML)</p>
            <dl>\(fields)</dl>
            \(errors)
            \(link(result, file))
            </article>
            """
    }

    private static func link(_ result: Result, _ file: [UInt8]?) -> String {
        guard let file, let path = result.file else { return "" }
        let name = URL(fileURLWithPath: path).lastPathComponent.escapedInXML
        guard file.count <= largestDataURL else {
            return "<p>\(name) is too large to be in this page: \(file.count) bytes.</p>"
        }
        let type = path.hasSuffix(".zip") ? "application/zip" : "application/x-pkcs12"
        let url = "data:\(type);base64,\(Data(file).base64EncodedString())"
        return "<p><a download=\"\(name)\" href=\"\(url)\">Save \(name)</a> (\(file.count) bytes)</p>"
    }

    private static func passes(_ results: [Result]) -> String {
        let items = results.map { result in
            let note = result.expected.answer == .either ? " (\(result.seen.escapedInXML))" : ""
            return "<li><b>\(result.name.escapedInXML)</b> \(result.expected.text.escapedInXML): "
                + "\(result.description.escapedInXML)\(note)</li>"
        }
        return "<details class=\"passes\"><summary>Passes (\(results.count))</summary>"
            + "<ul>\(items.joined())</ul></details>"
    }

    private static let styles = """
        :root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #9a6700; --worst: #cf222e; --open: #57606a; }
        @media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #d29922; --worst: #f85149; --open: #8b949e; } }
        * { box-sizing: border-box; }
        body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }
        h1 { font-size: 1.4rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; } h3 { font-size: 1rem; margin: 0; }
        code, pre { font: .85rem/1.4 ui-monospace, monospace; }
        pre { white-space: pre-wrap; margin: .5rem 0; }
        .counts { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: 0; padding: 0; }
        .counts li { border: 1px solid currentColor; border-radius: 1rem; padding: .1rem .7rem; }
        article { border: 1px solid var(--line); border-left: 4px solid currentColor; border-radius: 4px; margin: .8rem 0; padding: .7rem .9rem; }
        article > * { color: CanvasText; } article h3 .verdict { font-weight: 400; }
        .good { color: var(--good); } .bad { color: var(--bad); } .worst { color: var(--worst); } .open { color: var(--open); }
        article.bad .verdict { color: var(--bad); } article.worst .verdict { color: var(--worst); } article.open .verdict { color: var(--open); }
        dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .8rem; margin: .5rem 0; }
        dt { opacity: .7; } dd { margin: 0; }
        @media (max-width: 32rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .3rem; } }
        summary { cursor: pointer; } .passes ul { padding-left: 1.1rem; }
        @media print { body { max-width: none; padding: 0; } article { break-inside: avoid; } }
        """
}
