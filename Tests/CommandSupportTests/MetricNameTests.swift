import CommandSupport
import KeyShareWire
import Testing

@Suite("Names of metrics", .timeLimit(.minutes(10)))
struct MetricNameTests {
    @Test("A provider cannot add lines to the metrics through the name of a statistic")
    func injection() {
        let text = MetricFamily.text([ProviderFigure("x 1\nevil{a=\"b\"} \u{1B}[31m\u{E9}", 2).family])
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.hasSuffix("\nkeyshare_x_1_evil_a__b_____31m_ 2\n"))
        let known = MetricFamily.text([ProviderFigure("look-ups-waiting", 3).family])
        #expect(known.hasSuffix("\nkeyshare_look_ups_waiting 3\n"))
    }
}
