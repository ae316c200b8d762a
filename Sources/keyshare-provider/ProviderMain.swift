import CommandSupport
import KeyShareProviderCommand

@main
enum ProviderMain {
    static func main() async { await ProviderCommand.main() }
}
