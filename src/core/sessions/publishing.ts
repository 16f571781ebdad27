import { err, ok, type Result } from '../../base/result.ts'
import { PROTOCOL_FACTS, PROTOCOLS_OF, type Protocol } from '../access/protocols.ts'

/** The pictures of H.264 that get the time of their arrival. */
export type UtcTime = 'all' | 'keyframes' | 'none'

/** What a publisher adds to its address, whatever its protocol. */
export interface PublishingParameters {
  /** Whether this broadcast is recorded; null: as its token says. */
  readonly record: boolean | null
  /** This broadcast is not sent on to the targets of its token. */
  readonly noRestream: boolean
  /** The medium that is not taken of it; null: both are. */
  readonly without: 'audio' | 'video' | null
  /** The pictures of H.264 that get the time of their arrival; null: as its token says. */
  readonly utcTime: UtcTime | null
  /** The rank among the publishers of a source, in place of the token's; null: not given. */
  readonly priority: number | null
  /** The source of which this publisher sends a layer; empty: the one without a name. Null: it sends a source by itself. */
  readonly simulcastId: string | null
  /** The names of those that have no effect, for the log; some of them, without what is no name. */
  readonly unknown: readonly string[]
}

/** Of a publisher whose address has none. */
export const NO_PARAMETERS: PublishingParameters = {
  record: null,
  noRestream: false,
  without: null,
  utcTime: null,
  priority: null,
  simulcastId: null,
  unknown: [],
}

interface Parameter {
  /** A switch may come without a value, a number of 0 asks for nothing, and a text is there with any value. */
  readonly type: 'switch' | 'number' | 'text'
  /** Another spelling. */
  readonly alias?: string
  /** The protocols that it works with. Absent: all. */
  readonly ways?: readonly Protocol[]
  /** It changes what this one does, and means nothing without it. */
  readonly with?: string
  /** What it sets; a text: why an address with it is refused, instead of ignoring what it asks for. */
  readonly effect: Partial<PublishingParameters> | string
}

/** Media over them comes as whole frames, which Sluice may change. */
const FRAMES = PROTOCOLS_OF.publish.filter(
  (one) => !PROTOCOL_FACTS[one].usesMediaProcess && !PROTOCOL_FACTS[one].isDialled,
)

/** Each parameter of an address, once. If several set the same, the last row wins. */
const PARAMETERS: Readonly<Record<string, Parameter>> = {
  record: { type: 'switch', effect: { record: true } },
  noRecord: { type: 'switch', effect: { record: false } },
  noRestream: { type: 'switch', alias: 'norestream', effect: { noRestream: true } },
  audioOnly: { type: 'switch', effect: { without: 'video' } },
  videoOnly: { type: 'switch', effect: { without: 'audio' } },
  noAudio: { type: 'switch', effect: { without: 'audio' } },
  enableUTCInsertion: { type: 'switch', ways: FRAMES, effect: { utcTime: 'all' } },
  seiKeyFrameOnly: { type: 'switch', with: 'enableUTCInsertion', effect: { utcTime: 'keyframes' } },
  // Over WHIP one publisher sends all layers.
  simulcastId: { type: 'text', ways: FRAMES, effect: {} },
  // What comes is measured.
  videoTargetBitrate: { type: 'number', effect: {} },
  intraOnlyForwarding: { type: 'switch', effect: 'viewers get every picture' },
  extraLatency: { type: 'number', effect: 'media is passed on as it arrives' },
}

/** The name in the table of each spelling. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(PARAMETERS).flatMap(([name, { alias = name }]) => [
    [name, name],
    [alias, name],
  ]),
)

const UNKNOWN_MAX = 8
const NAME = /^[\w.-]{1,32}$/

/**
 * Reads the query of a publisher. Parameters that Sluice does not know may belong to other servers, so they are no reason to
 * refuse. One that it knows and cannot do is: the error is a sentence for the publisher, with its name.
 *
 * @param others names that the protocol reads itself
 */
export function readPublishing(
  query: Iterable<readonly [string, string]>,
  protocol: Protocol,
  others: readonly string[],
): Result<PublishingParameters, string> {
  const all = [...query].filter(([name]) => !others.includes(name))
  const given = givenOf(all)
  const problem = problemOf(given, protocol)
  if (problem !== null) return err(problem)
  const priority = readPriority(all)
  if (!priority.ok) return priority
  const simulcastId = all.find(([name]) => name === 'simulcastId')?.[1] ?? null
  const idProblem = sourceIdProblem(simulcastId ?? '', 'simulcastId')
  if (idProblem !== null) return err(idProblem)
  const unknown = someOf(all.map(([name]) => name).filter((name) => name !== PRIORITY && !NAMES.has(name)))
  const effects = Object.entries(PARAMETERS).flatMap(([name, { effect }]) =>
    typeof effect === 'string' || !given.has(name) ? [] : [effect],
  )
  const set = effects.reduce<PublishingParameters>((before, more) => ({ ...before, ...more }), NO_PARAMETERS)
  const utcTime = set.utcTime ?? (all.some(([name]) => name === 'enableUTCInsertion') ? 'none' : null)
  return ok({ ...set, utcTime, priority: priority.value, simulcastId, unknown })
}

const PRIORITY = 'priority'
const INTEGER = /^[+-]?\d{1,10}$/
const INT32_MAX = 2_147_483_647

/** 32 bits, as the field of tokens. Without a value it is not given. */
function readPriority(query: readonly (readonly [string, string])[]): Result<number | null, string> {
  const text = query.find(([name]) => name === PRIORITY)?.[1] ?? ''
  const value = Number(text)
  if (text === '') return ok(null)
  const isInteger = INTEGER.test(text) && value <= INT32_MAX && value >= -INT32_MAX - 1
  return isInteger ? ok(value) : err(`${PRIORITY} must be a whole number from ${-INT32_MAX - 1} to ${INT32_MAX}`)
}

/** Those that ask for something. The first value counts. */
function givenOf(query: readonly (readonly [string, string])[]): ReadonlySet<string> {
  const values = new Map<string, string>()
  for (const [spelling, value] of query) {
    const name = NAMES.get(spelling)
    if (name !== undefined && !values.has(name)) values.set(name, value)
  }
  return new Set([...values].filter(([name, value]) => asks(PARAMETERS[name]?.type, value)).map(([name]) => name))
}

function asks(type: Parameter['type'] | undefined, value: string): boolean {
  if (type === 'switch') return !['false', '0'].includes(value.toLowerCase())
  return type === 'text' || Number(value) !== 0
}

function problemOf(given: ReadonlySet<string>, protocol: Protocol): string | null {
  for (const name of given) {
    const problem = rowProblem(name, given, protocol)
    if (problem !== null) return problem
  }
  const other = ['videoOnly', 'noAudio', 'simulcastId'].find((name) => given.has(name))
  return given.has('audioOnly') && other !== undefined ? `audioOnly and ${other} exclude each other` : null
}

function rowProblem(name: string, given: ReadonlySet<string>, protocol: Protocol): string | null {
  const row = PARAMETERS[name]
  if (row === undefined) return null
  if (typeof row.effect === 'string') return `${name} is not supported: ${row.effect}`
  if (row.ways?.includes(protocol) === false) return `${name} works only over ${titlesOf(row.ways)}`
  return row.with === undefined || given.has(row.with) ? null : `${name} needs ${row.with}`
}

const titlesOf = (ways: readonly Protocol[]): string => ways.map((way) => PROTOCOL_FACTS[way].title).join(' and ')

const someOf = (names: readonly string[]): string[] =>
  [...new Set(names)].filter((name) => NAME.test(name)).slice(0, UNKNOWN_MAX)

const SOURCE_ID_MAX = 128

/** Why a source cannot have this id, in words for the publisher or viewer; null: it can. Empty: the source without a name. */
export const sourceIdProblem = (sourceId: string, parameter = 'sourceId'): string | null =>
  sourceId.length > SOURCE_ID_MAX || /\p{Cc}/u.test(sourceId)
    ? `${parameter} must have 1 to ${SOURCE_ID_MAX} printable characters`
    : null
