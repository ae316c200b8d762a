import Testing

@testable import CommandSupport

@Suite("The text of --help", .timeLimit(.minutes(10)))
struct HelpTextTests {
    private let text = """
        OVERVIEW: Does something that takes more than forty columns to say.

        EXAMPLE:
          keyshare-provider provision --person "Dana Example" --types signature

        FAULTS:
          cut-read     the answer is cut off after some of its bytes
          late         the answer comes late

        USAGE: keyshare-provider do <file> [--uti <type> ...] [--json]

        OPTIONS:
          --uti <type>            A uniform type to ask for.
        """

    @Test("Sentences, options and lists are wrapped and aligned; examples and an option's value are not")
    func wrapping() throws {
        #expect(
            try #require(HelpText(text)).wrapped(to: 40) == """
                OVERVIEW: Does something that takes more
                than forty columns to say.

                EXAMPLE:
                  keyshare-provider provision --person "Dana Example" --types signature

                FAULTS:
                  cut-read     the answer is cut off
                               after some of its bytes
                  late         the answer comes late

                USAGE: keyshare-provider do <file>
                       [--uti <type> ...] [--json]

                OPTIONS:
                  --uti <type>            A uniform type to ask for.
                """)
        #expect(
            try #require(HelpText(text)).wrapped(to: 56).hasSuffix(
                "\n  --uti <type>            A uniform type to ask for."))
    }

    @Test("Version output and completion scripts are not reformatted as help")
    func other() {
        #expect(HelpText("1.2.3") == nil)
        #expect(HelpText("#!/bin/bash\nOVERVIEW: ") == nil)
    }
}
