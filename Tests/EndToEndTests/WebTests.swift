import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The page of a device", .timeLimit(.minutes(10)))
struct WebTests {
    /// Starts the page's server and returns the port and the secret of its address.
    private func start(
        _ simulation: Simulation, _ arguments: String...
    ) async throws -> (command: RunningCommand, port: Int, key: String) {
        let command = try RunningCommand(
            .device, ["web"] + arguments, environment: ["KEYSHARE_DEVICE": simulation.device])
        var line = ""
        try await command.waitForOutput { text in
            line = text
            return text.hasSuffix("\n")
        }
        let match = try #require(line.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/\?key=([0-9a-f]{32})\n/))
        return (command, try #require(Int(match.1)), String(match.2))
    }

    private func get(_ path: String, _ port: Int, host: String? = nil, cookie: String? = nil) async throws
        -> HTTPReply
    {
        let peer = try RawPeer(port: port)
        let fields = "Host: \(host ?? "127.0.0.1:\(port)")\r\n" + (cookie.map { "Cookie: \($0)\r\n" } ?? "")
        return try #require(try await peer.http(Array("GET \(path) HTTP/1.1\r\n\(fields)\r\n".utf8)))
    }

    @Test("The printed URL opens the page, other requests return 403, and SIGTERM exits with 0")
    func access() async throws {
        let simulation = try Simulation()
        let (command, port, key) = try await start(simulation)
        for path in ["/", "/page.js", "/api/state", "/?key=" + String(repeating: "0", count: 32)] {
            let reply = try await get(path, port)
            #expect(reply.status == 403 && reply.body.count < 80, "\(path)")
        }
        #expect(try await get("/?key=" + key, port, host: "evil.example").status == 403)
        let entrance = try await get("/?key=" + key, port)
        #expect(entrance.status == 303 && entrance.fields["location"] == "/")
        let cookie = String(try #require(entrance.fields["set-cookie"]?.split(separator: ";").first))
        let page = try await get("/", port, cookie: cookie)
        #expect(
            page.status == 200
                && page.fields["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
        #expect(
            page.fields["cache-control"] == "no-store" && page.fields["access-control-allow-origin"] == nil)
        #expect(try await get("/api/state", port, cookie: cookie).status == 200)
        #expect(try await get("/api/nothing", port, cookie: cookie).status == 404)
        command.signal(SIGTERM)
        let run = try await command.finish()
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test(
        "Another user of the machine receives no bytes, even with the secret key",
        .enabled(if: SecondClient.isAvailable, "there is no python3"),
        .enabled(if: geteuid() == 0, "only root can act as another user"))
    func otherUser() async throws {
        let simulation = try Simulation()
        let (command, port, key) = try await start(simulation)
        // A socket created by root would be accepted, so the script changes its user before it creates a socket.
        let script = """
            import os, socket, sys
            # What Python loads for a connection lies where the other user may not read.
            "".encode("idna")
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            host = "127.0.0.1:" + sys.argv[1]
            head = " HTTP/1.1\\r\\nHost: " + host + "\\r\\nContent-Length: 0\\r\\n\\r\\n"
            for request in ("GET /?key=" + sys.argv[2] + head, "GET /" + head, "POST /api/device" + head,
                            "DELETE /" + head, "no HTTP\\r\\n\\r\\n"):
                answer = b""
                try:
                    # The reset can arrive before connect() returns.
                    peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
                    peer.sendall(request.encode())
                    while part := peer.recv(65536): answer += part
                except (ConnectionResetError, BrokenPipeError): pass
                print(answer)
            """
        let run = try await SecondClient.python(["-c", script, "\(port)", key])
        #expect(run.status == 0)
        let answers = run.output.split(separator: "\n")
        #expect(answers == ["b''", "b''", "b''", "b''", "b''"])
        #expect(try await get("/?key=" + key, port).status == 303)
        command.signal(SIGTERM)
        #expect(try await command.finish().status == 0)
    }

    @Test("If the port is in use, the command exits with 74; a non-local address is rejected")
    func portInUse() async throws {
        let simulation = try Simulation()
        let (command, port, _) = try await start(simulation)
        let taken = try await simulation.device("web", "--listen", "127.0.0.1:\(port)", "--json")
        #expect(taken.status == 74 && taken.text.contains("127.0.0.1:\(port)"))
        #expect(try taken.errorCode() == "address-in-use")
        #expect(try await simulation.device("web", "--listen", "0.0.0.0:8080").status == 64)
        command.signal(SIGINT)
        #expect(try await command.finish().status == 0)
    }

    @Test("Replaying a file that is not a recording exits with 5, without needing a device")
    func noRecording() async throws {
        let simulation = try Simulation()
        let file = try simulation.write("{}", as: "other.json")
        let run = try await simulation.device("web", "--replay", file)
        #expect(run.status == 5 && run.errors.contains("other.json is not a recording"))
        #expect(!FileManager.default.fileExists(atPath: simulation.device))
    }

    @Test("An unreadable device is reported with its file, at the start and on an open page")
    func unreadableDevice() async throws {
        let simulation = try Simulation()
        try await simulation.device("lock")
        let state = simulation.device + "/state"
        let (command, port, key) = try await start(simulation)
        let entrance = try await get("/?key=" + key, port)
        let cookie = String(try #require(entrance.fields["set-cookie"]?.split(separator: ";").first))
        let before = try await get("/api/state", port, cookie: cookie)
        #expect(String(decoding: before.body, as: UTF8.self).contains(#""failures":[]"#))
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: state))
        let after = String(
            decoding: try await get("/api/state", port, cookie: cookie).body, as: UTF8.self)
        #expect(after.contains(state.replacing("/", with: #"\/"#)) || after.contains(state), "\(after)")
        command.signal(SIGTERM)
        #expect(try await command.finish().status == 0)
        let refused = try await simulation.device("web")
        #expect(refused.status == 74 && refused.errors.contains(state), "\(refused.errors)")
    }

    /// The names of the cases in scripts/web-check.
    private static let cases = [
        "request", "explained", "archive", "legacy", "locked", "fault", "recording", "agree", "token",
        "android", "android_layout", "narrow", "keyboard", "layout", "names",
    ]

    @Test(
        "The page passes each check in a browser",
        .enabled(if: WebBrowser.isAvailable, "there is no chromium with a chromedriver"), .serialized,
        arguments: cases)
    func browser(name: String) async throws {
        let run = try await SecondClient.python([PackageFolder.path + "/scripts/web-check", name])
        #expect(run.status == 0, "\(run.output)")
    }

    @Test(
        "The cases in this suite match the cases of the script",
        .enabled(if: SecondClient.isAvailable, "there is no python3"))
    func allCases() async throws {
        let run = try await SecondClient.python([PackageFolder.path + "/scripts/web-check", "--list"])
        let listed = run.output.split(separator: "\n").map { String($0) }
        #expect(listed == Self.cases)
    }
}

/// The browser that the scripts control, and its driver.
enum WebBrowser {
    static let isAvailable =
        SecondClient.isAvailable
        && ["chromium", "chromedriver"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
        }
}
