internal import SluicegateCore

/// What one fetch of ``Source/pages(from:ahead:_:)`` answers.
public struct Page<Row, Cursor> {
  /// The rows, in order. None is no end: that is said by `next`.
  public var rows: [Row]
  /// Where the next page begins; `nil` behind the last.
  public var next: Cursor?

  /// A page.
  public init(rows: [Row], next: Cursor?) {
    self.rows = rows
    self.next = next
  }
}

extension Page: Sendable where Row: Sendable, Cursor: Sendable {}
extension Page: Equatable where Row: Equatable, Cursor: Equatable {}

extension Source where Mat == NotUsed {
  /// Rows by position: `rows(from, n)` is called with what is asked for and answers at most `n` rows; fewer
  /// than `n` are the last. Behind ``page(_:mark:)`` its demand is the page's.
  public static func fetch<Rows: Sequence>(
    _ rows: @escaping @Sendable (_ from: UInt64, _ n: UInt64) throws -> Rows
  ) -> Self where Rows.Element == Out {
    let fetcher = Fetching { from, n in
      Calling { _ in .values(tokens: try rows(from, n).map { give($0) }) }.call(tokens: [])
    }
    return Source(sourceFetch(fetcher: fetcher), .none())
  }

  /// Rows by the page: `fetch` is called with `first`, then with each page's `next`, on a thread of the
  /// scope. A page is fetched when a row is wanted and none is left; with `ahead`, once no more than so
  /// many rows are left.
  public static func pages<Cursor: Sendable>(
    from first: Cursor, ahead: UInt64 = 0,
    _ fetch: @escaping @Sendable (Cursor) throws -> Page<Out, Cursor>
  ) -> Self {
    let pager = Paging { token in
      let page = try fetch(look(token))
      return .page(rows: page.rows.map { give($0) }, next: page.next.map { give($0) })
    }
    return Source(sourcePages(first: give(first), mark: ahead, pager: pager), .none())
  }

  /// `element` each time `every` has passed since the start. A tick that nobody has asked for is left
  /// out, so ticks never pile up.
  ///
  /// Throws `invalidArgument` for no time.
  public static func tick(
    every interval: Duration, _ element: Out
  ) throws(SluicegateError) -> Self {
    let core = try translating {
      try sourceTick(everyMicros: microseconds(interval), token: give(element))
    }
    return Source(core, .none())
  }

  /// The elements of `elements`, iterated anew by each run, in tasks: how an `AsyncStream` or another
  /// channel feeds a pipeline. One is awaited for each that is asked for, one at a time, and none is read
  /// ahead; the task is cancelled when the stream ends first. ``Sink/outlet(_:)`` is the way back, from a
  /// pipeline to an asynchronous sequence.
  public static func iterating<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Self where Elements.Element == Out {
    let iterators = Source<AsyncIterating<Elements>, NotUsed> {
      let iterator = AsyncIterating<Elements>(elements.makeAsyncIterator())
      return AnyIterator { iterator }
    }
    do {
      return try iterators.mapAsync(1) { try await $0.next() }
        .prefix(while: { $0 != nil }).compactMap { $0 }
    } catch {
      preconditionFailure("one at a time is a number of tasks: \(error)")
    }
  }
}

/// An iterator that one task after the other uses.
///
/// `@unchecked Sendable`: the stage that asks has one task at a time.
private final class AsyncIterating<Elements: AsyncSequence>: @unchecked Sendable {
  private var iterator: Elements.AsyncIterator
  init(_ iterator: Elements.AsyncIterator) { self.iterator = iterator }
  func next() async throws -> Elements.Element? { try await iterator.next() }
}

private final class Fetching: Fetcher {
  private let body: @Sendable (UInt64, UInt64) -> Reply
  init(_ body: @escaping @Sendable (UInt64, UInt64) -> Reply) { self.body = body }
  func fetch(from: UInt64, n: UInt64) -> Reply { body(from, n) }
}

private final class Paging: Pager {
  private let body: @Sendable (UInt64) throws -> PageReply
  init(_ body: @escaping @Sendable (UInt64) throws -> PageReply) { self.body = body }

  func page(cursor: UInt64) -> PageReply {
    do { return try body(cursor) } catch { return .thrown(fault: thrownFault(error)) }
  }
}
