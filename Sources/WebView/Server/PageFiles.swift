internal import LoopbackHTTP

/// The files of the page, embedded in the module's code.
enum PageFiles {
    /// The response to a request for a file, or nil for an unknown path.
    static func response(_ path: String) -> HTTPResponse? {
        switch path {
        case "/": file("text/html", PackageResources.page_html)
        case "/page.css": file("text/css", PackageResources.page_css)
        case "/page.js": file("text/javascript", PackageResources.page_js)
        case "/icon.svg": file("image/svg+xml", PackageResources.icon_svg)
        default: nil
        }
    }

    private static func file(_ type: String, _ bytes: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            contentType: type + "; charset=utf-8", body: bytes, mayBeStored: false, fields: WebAccess.fields)
    }
}
