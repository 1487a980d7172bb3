internal import SluicegateCore

/// A value on its way through core, which knows it as a token.
private final class Cell: Sendable {
  let value: any Sendable
  init(_ value: any Sendable) { self.value = value }
}

/// Lets go of what core has let go of.
private final class CellKeeper: Keeper {
  func release(token: UInt64) { unmanaged(token).release() }
}

private let keeper: Void = keepElements(keeper: CellKeeper())

private func unmanaged(_ token: UInt64) -> Unmanaged<Cell> {
  guard let address = UnsafeRawPointer(bitPattern: UInt(token)) else {
    preconditionFailure("core lends no token that it was not given")
  }
  return Unmanaged<Cell>.fromOpaque(address)
}

/// Hands a value over to core.
func give(_ value: some Sendable) -> UInt64 {
  _ = keeper
  return UInt64(UInt(bitPattern: Unmanaged.passRetained(Cell(value)).toOpaque()))
}

/// Looks at a value that core lends.
func look<Value: Sendable>(_ token: UInt64, as type: Value.Type = Value.self) -> Value {
  guard let value = unmanaged(token).takeUnretainedValue().value as? Value else {
    preconditionFailure("a stage gets the elements that its neighbour gives: \(type)")
  }
  return value
}

/// What a user's function threw, for core: it fails the stream.
func thrownFault(_ error: any Error) -> Fault {
  switch error {
  case let error as SluicegateError: error.fault
  case is CancellationError:
    SluicegateError(.cancelled, "the task was cancelled", cause: error).fault
  default: SluicegateError(.stageFailed, String(describing: error), cause: error).fault
  }
}

/// A function of the user's, as core calls it: what it throws fails the stream.
final class Calling: Function {
  private let body: @Sendable ([UInt64]) throws -> Reply

  init(_ body: @escaping @Sendable ([UInt64]) throws -> Reply) { self.body = body }

  func call(tokens: [UInt64]) -> Reply {
    do { return try body(tokens) } catch { return .thrown(fault: thrownFault(error)) }
  }

  /// One element to one.
  static func mapping<In: Sendable, Out: Sendable>(
    _ transform: @escaping @Sendable (In) throws -> Out
  ) -> Calling {
    Calling { .values(tokens: [give(try transform(look($0[0])))]) }
  }

  /// One element to one or none.
  static func picking<In: Sendable, Out: Sendable>(
    _ transform: @escaping @Sendable (In) throws -> Out?
  ) -> Calling {
    Calling {
      guard let output = try transform(look($0[0])) else { return .no }
      return .values(tokens: [give(output)])
    }
  }

  /// One element to some.
  static func spreading<In: Sendable, Out: Sequence>(
    _ transform: @escaping @Sendable (In) throws -> Out
  ) -> Calling where Out.Element: Sendable {
    Calling { .values(tokens: try transform(look($0[0])).map { give($0) }) }
  }

  /// Several elements to one.
  static func packing<In: Sendable, Out: Sendable>(
    _ transform: @escaping @Sendable ([In]) throws -> Out
  ) -> Calling {
    Calling { .values(tokens: [give(try transform($0.map { look($0) }))]) }
  }

  static func testing<In: Sendable>(
    _ test: @escaping @Sendable (In) throws -> Bool
  ) -> Calling {
    Calling { try test(look($0[0])) ? .yes : .no }
  }

  /// A branch; one below 0 is none.
  static func choosing<In: Sendable>(
    _ choose: @escaping @Sendable (In) throws -> Int
  ) -> Calling {
    Calling { .number(number: UInt64(exactly: try choose(look($0[0]))) ?? .max) }
  }

  /// The bytes of an element.
  static func sizing<In: Sendable>(_ size: @escaping @Sendable (In) -> UInt64) -> Calling {
    Calling { .number(number: size(look($0[0]))) }
  }

  static func doing<In: Sendable>(_ body: @escaping @Sendable (In) throws -> Void) -> Calling {
    Calling {
      try body(look($0[0]))
      return .yes
    }
  }

  /// State and element to state.
  static func folding<State: Sendable, In: Sendable>(
    _ next: @escaping @Sendable (State, In) throws -> State
  ) -> Calling {
    Calling { .values(tokens: [give(try next(look($0[0]), look($0[1])))]) }
  }
}

/// Makes a generator for each run.
final class Generating: Generators {
  private let body: @Sendable () -> Calling
  init(_ body: @escaping @Sendable () -> Calling) { self.body = body }
  func make() -> any Function { body() }
}
