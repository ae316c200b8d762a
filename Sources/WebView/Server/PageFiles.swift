internal import LoopbackHTTP

/// The files of the page, embedded in the module's code.
enum PageFiles {
    /// The response to a request for a file, or nil for an unknown path.
    static func response(_ path: String) -> HTTPResponse? {
        switch path {
        case "/": file("text/html", PackageResources.page_html)
        case "/page.css": file("text/css", PackageResources.page_css)
        case "/android.css": file("text/css", PackageResources.android_css)
        case "/icon.svg": file("image/svg+xml", PackageResources.icon_svg)
        default: modules[path].map { file("text/javascript", $0) }
        }
    }

    /// The page's modules, keyed by path.
    private static let modules = [
        "/android.js": PackageResources.android_js,
        "/diagram.js": PackageResources.diagram_js,
        "/dialogs.js": PackageResources.dialogs_js,
        "/dom.js": PackageResources.dom_js,
        "/events.js": PackageResources.events_js,
        "/keychains.js": PackageResources.keychains_js,
        "/layout.js": PackageResources.layout_js,
        "/page.js": PackageResources.page_js,
        "/phone.js": PackageResources.phone_js,
        "/picker.js": PackageResources.picker_js,
        "/request.js": PackageResources.request_js,
        "/sequence.js": PackageResources.sequence_js,
        "/server.js": PackageResources.server_js,
    ]

    private static func file(_ type: String, _ bytes: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            contentType: type + "; charset=utf-8", body: bytes, mayBeStored: false, fields: WebAccess.fields)
    }
}
