import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { TimeSpan } from '../../base/time.ts'
import { instant } from '../validation/moments.ts'
import type { FieldErrors } from '../errors.ts'
import { parametersOf, wordOf } from '../pages/parameters.ts'
import { Problems } from '../validation/problems.ts'
import type { ViewerSession } from './records.ts'

/** Whether a session is over. */
export const RECORD_SEARCHES = ['Completed', 'Ongoing', 'Ongoing_Completed'] as const

/** How a bound of a time is meant, with what it adds to the first or to the last millisecond. */
const AFTER = { GreaterThanOrEqualTo: 0, GreaterThan: 1 } as const
const BEFORE = { LessThan: 0, LessThanOrEqualTo: 1 } as const
const OPERATORS = { ...AFTER, ...BEFORE }
export const RECORD_OPERATORS = Object.keys(OPERATORS) as (keyof typeof OPERATORS)[]

/** Which records to read; all conditions apply. */
export interface RecordQuestion {
  readonly started: TimeSpan
  /** Of records that are over. */
  readonly completed: TimeSpan
  readonly search: (typeof RECORD_SEARCHES)[number]
  /** Null: all. */
  readonly streamNames: ReadonlySet<string> | null
  /** Null: all. A null inside: records without one. */
  readonly trackingIds: ReadonlySet<string | null> | null
  /** Only records after this one. */
  readonly after: string | null
  readonly limit: number
}

export const RECORD_NAMES_MAX = 100
/** More records than a node admits in a month. */
const LIMIT_MAX = 1_000_000_000

type Bound = readonly [of: 'started' | 'completed', side: keyof TimeSpan]
/** The parameters of each form that bound a time. Without a second part the operator decides. */
type Bounds = Readonly<Record<string, readonly [of: Bound[0], side: keyof TimeSpan | null]>>

const BY_SIDE: Bounds = {
  startedAfter: ['started', 'fromMs'],
  startedBefore: ['started', 'untilMs'],
  completedAfter: ['completed', 'fromMs'],
  completedBefore: ['completed', 'untilMs'],
}

/** The forms of a question: ours in a query, and the two of hosted services in a body. */
const FORMS = {
  query: { bounds: BY_SIDE, operator: null, streams: 'streamName', ids: 'trackingId', more: ['after', 'limit'] },
  v1: {
    bounds: { startTime: ['started', null], endTime: ['completed', null] } as Bounds,
    operator: (name: string) => name.replace('Time', 'Operator'),
    streams: 'streamNames',
    ids: 'trackingIds',
    more: [],
  },
  v2: {
    bounds: BY_SIDE,
    operator: (name: string) => `${name}Operator`,
    streams: 'streamNames',
    ids: 'trackingIds',
    more: [],
  },
} as const

export type RecordForm = keyof typeof FORMS

/** Parses a question in one of its forms and reports all errors at once. Names ignore case. */
export function readRecordQuestion(form: RecordForm, given: unknown): Result<RecordQuestion, FieldErrors> {
  if (!isObject(given)) return err({ body: ['must be a JSON object'] })
  return new Reader(FORMS[form]).read(given)
}

type Form = (typeof FORMS)[RecordForm]

class Reader {
  readonly #form: Form
  readonly #problems = new Problems()
  #values: Readonly<Record<string, unknown>> = {}

  constructor(form: Form) {
    this.#form = form
  }

  read(given: object): Result<RecordQuestion, FieldErrors> {
    this.#values = this.#named(given)
    const { streams, ids } = this.#form
    const times = this.#times()
    const question = {
      ...times,
      search: this.#note('search', this.#values['search'], readSearch) ?? 'Ongoing_Completed',
      streamNames: this.#note(streams, this.#values[streams], (value) => readNames(value, false)) ?? null,
      trackingIds: this.#note(ids, this.#values[ids], (value) => readNames(value, true)) ?? null,
      after: this.#note('after', this.#values['after'], readId) ?? null,
      limit: this.#note('limit', this.#values['limit'], readLimit) ?? LIMIT_MAX,
    }
    return this.#problems.settle(question as RecordQuestion)
  }

  /** The values by the names of the form. Others are ignored in a query, and errors in a body. */
  #named(given: object): Record<string, unknown> {
    const { bounds, operator, streams, ids, more } = this.#form
    const times = Object.keys(bounds)
    const names = [...times, ...(operator ? times.map(operator) : []), 'search', streams, ids, ...more]
    if (!operator) return parametersOf({ ...given }, names)
    const values: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(given)) {
      const name = wordOf(names, key)
      if (name === undefined) this.#problems.add(key, `is not a property of this request; allowed: ${names.join(', ')}`)
      else if (Object.hasOwn(values, name)) this.#problems.add(name, TWICE)
      else values[name] = value
    }
    return values
  }

  #times(): Pick<RecordQuestion, 'started' | 'completed'> {
    const spans = { started: { ...ALWAYS }, completed: { ...ALWAYS } }
    for (const [name, [of, only]] of Object.entries(this.#form.bounds)) {
      const ms = this.#note(name, this.#values[name], readTime)
      const operator = this.#operator(name, only)
      if (ms === undefined || operator === undefined) continue
      spans[of][operator in AFTER ? 'fromMs' : 'untilMs'] = ms + OPERATORS[operator]
    }
    return spans
  }

  #operator(name: string, side: keyof TimeSpan | null): keyof typeof OPERATORS | undefined {
    const all = side === null ? RECORD_OPERATORS : side === 'fromMs' ? Object.keys(AFTER) : Object.keys(BEFORE)
    const isEnd = side === 'untilMs' || name === 'endTime'
    const operatorName = this.#form.operator?.(name) ?? ''
    const word = this.#note(operatorName, this.#values[operatorName], (value) => readWord(all, value))
    return (word ?? (isEnd ? 'LessThan' : 'GreaterThanOrEqualTo')) as keyof typeof OPERATORS
  }

  #note<T>(name: string, value: unknown, read: (value: unknown) => Result<T, string>): T | undefined {
    if (value === undefined || value === null) return undefined
    const done = read(value)
    if (done.ok) return done.value
    this.#problems.add(name, done.error)
    return undefined
  }
}

/** Names ignore case, so two of them may be one. */
const TWICE = 'comes twice; send it once'

const ALWAYS: TimeSpan = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER }

const readTime = (value: unknown): Result<number, string> => instant(typeof value === 'string' ? value : '')

const readSearch = (value: unknown) => readWord(RECORD_SEARCHES, value)

function readWord<W extends string>(words: readonly W[], value: unknown): Result<W, string> {
  const word = wordOf(words, value)
  return word === undefined ? err(`must be one of ${words.join(', ')}`) : ok(word)
}

/** In a query an empty text, in a body null stands for records without one. */
function readNames(value: unknown, mayBeNone: boolean): Result<ReadonlySet<string | null>, string> {
  const list = [value].flat().map((one: unknown) => (mayBeNone && one === '' ? null : one))
  const fits = list.every((one) => (mayBeNone && one === null) || (typeof one === 'string' && one.length <= 256))
  return fits && list.length > 0 && list.length <= RECORD_NAMES_MAX
    ? ok(new Set(list as (string | null)[]))
    : err(`must be 1 to ${RECORD_NAMES_MAX} texts`)
}

const readId = (value: unknown): Result<string, string> =>
  typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? ok(value) : err('must be the recordId of a record')

function readLimit(value: unknown): Result<number, string> {
  const limit = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : 0
  return limit >= 1 && limit <= LIMIT_MAX ? ok(limit) : err(`must be a whole number from 1 to ${LIMIT_MAX}`)
}

/** Whether a session of a viewer is asked for. */
export function isAskedFor(session: ViewerSession, question: RecordQuestion): boolean {
  const { started, completed, search, streamNames, trackingIds } = question
  const { startedAtMs, endedAtMs, streamName, trackingId } = session
  if (!isIn(started, startedAtMs)) return false
  if (endedAtMs === null ? search === 'Completed' : search === 'Ongoing' || !isIn(completed, endedAtMs)) return false
  return (streamNames?.has(streamName) ?? true) && (trackingIds?.has(trackingId) ?? true)
}

const isIn = ({ fromMs, untilMs }: TimeSpan, ms: number): boolean => ms >= fromMs && ms < untilMs
