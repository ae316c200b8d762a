/// Some of the items of a container, in order.
package struct ItemPage: Sendable, Hashable {
    /// The items of the page.
    package var items: [Item]
    /// The cursor that asks for the next page; nil at the end of the container.
    package var nextCursor: String?

    /// Makes a page.
    package init(items: [Item], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }
}
