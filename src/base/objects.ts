/** Whether a value of JSON or of a peer is an object with fields, and so neither null nor a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value that is made while it is written as JSON, so that a large one is never in memory as a whole. */
class Lazy {
  readonly json: () => Generator<string, void>

  constructor(json: () => Generator<string, void>) {
    this.json = json
  }
}

/** An object whose entries are made while it is written. */
export const lazyObject = <K>(keys: Iterable<K>, entryOf: (key: K) => readonly [name: string, value: unknown]): Lazy =>
  new Lazy(function* () {
    let before = '{'
    for (const key of keys) {
      const [name, value] = entryOf(key)
      yield `${before}${JSON.stringify(name)}:`
      yield* jsonOf(value)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  })

/** A list whose values are made while it is written. */
export const lazyList = <K>(keys: Iterable<K>, valueOf: (key: K) => unknown): Lazy =>
  new Lazy(function* () {
    let before = '['
    for (const key of keys) {
      yield before
      yield* jsonOf(valueOf(key))
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  })

/** A value that takes long to make: `make` may pause wherever it yields. */
export const lazyValue = (make: () => Generator<void, unknown>): Lazy =>
  new Lazy(function* () {
    const making = make()
    let step = making.next()
    for (; !step.done; step = making.next()) yield ''
    yield* jsonOf(step.value)
  })

/** A value as JSON, in pieces. */
export function* jsonOf(value: unknown): Generator<string, void> {
  if (value instanceof Lazy) yield* value.json()
  else yield JSON.stringify(value)
}

/** Joins the pieces of a long text. May pause after each. */
export function* joined(pieces: Iterable<string>): Generator<void, string> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    yield
  }
  return text
}
