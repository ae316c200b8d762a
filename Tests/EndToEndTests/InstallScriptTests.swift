import Foundation
import TestSupport
import Testing

@Suite("The install script of the archive", .timeLimit(.minutes(1)))
struct InstallScriptTests {
    private let scratch: ScratchFolder

    /// Creates an archive with the script, one command and one unit.
    init() throws {
        scratch = try ScratchFolder()
        try scratch.shell(
            """
            mkdir -p archive/bin archive/lib/keyshare archive/share/systemd/user
            cp /bin/true archive/lib/keyshare/keyshare
            ln -s ../lib/keyshare/keyshare archive/bin/keyshare-provider
            echo 'ExecStart=/usr/bin/keyshare-provider serve --device d' >archive/share/systemd/user/k.service
            cp '\(PackageFolder.path)/packaging/install' archive
            """)
    }

    @Test(
        "The unit starts the installed command, and removal leaves nothing",
        arguments: ["plain", "a b", "a&b|c"])
    func unit(prefix: String) throws {
        let folder = scratch.path(prefix)
        try scratch.shell("archive/install --prefix '\(folder)'")
        let unit = String(decoding: try scratch.read("\(prefix)/share/systemd/user/k.service"), as: UTF8.self)
        #expect(unit == "ExecStart=\"\(folder)/bin/keyshare-provider\" serve --device d\n")
        try scratch.shell("'\(folder)/bin/keyshare-provider'; archive/install --prefix '\(folder)' --remove")
        #expect(try scratch.names(folder).isEmpty)
    }

    @Test(
        "An empty prefix is rejected, and does not select the home folder",
        arguments: ["--prefix=", "--prefix ''"])
    func emptyPrefix(option: String) throws {
        try scratch.shell(
            """
            mkdir home; status=0; HOME=$PWD/home archive/install \(option) || status=$?
            test $status -eq 64; test -z "$(ls -A home)"
            """)
    }

    @Test("CDPATH does not change the folder from which files are installed")
    func searchPath() throws {
        try scratch.shell(
            "mkdir -p other/archive; CDPATH=$PWD/other sh archive/install --prefix p; p/bin/keyshare-provider"
        )
    }

    @Test("A link at a temporary name is not followed, and a folder there is an error")
    func temporaryNames() throws {
        try scratch.shell(
            """
            mkdir -p p/lib/keyshare; echo text >mine; ln -s ../../../mine p/lib/keyshare/keyshare.part
            archive/install --prefix p; test "$(cat mine)" = text; p/bin/keyshare-provider
            mkdir -p q/lib/keyshare/keyshare.part; status=0; archive/install --prefix q || status=$?
            test $status -eq 73; test ! -e q/bin
            """)
    }
}
