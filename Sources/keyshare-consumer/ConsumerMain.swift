import CommandSupport
import KeyShareConsumerCommand

@main
enum ConsumerMain {
    static func main() async { await ConsumerCommand.main() }
}
