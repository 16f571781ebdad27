/** What a publisher adds to its address, whatever its protocol. */
export interface PublishingParameters {
  /** This broadcast is not recorded, although its token asks for recordings. */
  readonly noRecord: boolean
  /** The names of those that have no effect, for the log; some of them, without what is no name. */
  readonly unknown: readonly string[]
}

const UNKNOWN_MAX = 8
const NAME = /^[\w.-]{1,32}$/

/**
 * Reads the query of a publisher. Parameters may belong to other servers, so that none is a reason to refuse.
 *
 * @param others names that the protocol reads itself
 */
export function readPublishing(
  query: Iterable<readonly [string, string]>,
  others: readonly string[],
): PublishingParameters {
  const all = [...query]
  const value = all.find(([name]) => name === 'noRecord')?.[1]
  const unknown = all.map(([name]) => name).filter((name) => name !== 'noRecord' && !others.includes(name))
  return { noRecord: value !== undefined && isOn(value), unknown: someOf(unknown) }
}

/** A switch may come without a value. */
const isOn = (value: string): boolean => !['false', '0'].includes(value.toLowerCase())

const someOf = (names: readonly string[]): string[] =>
  [...new Set(names)].filter((name) => NAME.test(name)).slice(0, UNKNOWN_MAX)

const SOURCE_ID_MAX = 128

/** Why a source cannot have this id, in words for the publisher or viewer; null: it can. Empty: the source without a name. */
export const sourceIdProblem = (sourceId: string): string | null =>
  sourceId.length > SOURCE_ID_MAX || /\p{Cc}/u.test(sourceId)
    ? `sourceId must have 1 to ${SOURCE_ID_MAX} printable characters`
    : null
