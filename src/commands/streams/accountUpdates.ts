import { Tally } from '../../base/tally.ts'
import {
  figureUpdates,
  stateUpdates,
  type StreamOnAir,
  totalsOf,
  type Totals,
  type Update,
} from '../../core/streams/streamOnAir.ts'

/** An update with its place in the order of its account. `id` is for `Last-Event-ID`. */
export interface NumberedUpdate {
  readonly id: string
  readonly name: Update['name'] | 'reset'
  /** JSON. */
  readonly json: string
}

/** An open event stream. Its methods must not throw. */
export interface UpdateReader {
  readonly accountId: string
  readonly userId: number
  send(update: NumberedUpdate): void
  /** The server stops, or drops the reader. */
  end(): void
}

/** Webhooks that are paused and engines that run, as far as the updates show them. */
export interface SlowFacts {
  /** By id: until when. */
  readonly paused: ReadonlyMap<string, string>
  /** By id. */
  readonly engines: ReadonlyMap<string, { readonly channelId: string; readonly status: string }>
}

/** An entry of the audit log. */
export interface Edit {
  readonly id: number
  readonly action: string
}

/** What was edited: `publish_token`, `channel` and so on. To sign a token changes nothing that a page shows. */
const kindsOf = (edits: readonly Edit[]): string[] => [
  ...new Set(edits.filter(({ action }) => !action.endsWith('.sign')).map(({ action }) => action.split('.')[0] ?? '')),
]

/** The whole state, for a reader that has missed updates or is new. */
export interface Snapshot extends Totals {
  readonly why: 'new' | 'missed'
  readonly streams: readonly StreamOnAir[]
}

/** Updates that a reader may have missed and still gets. */
const RING_MAX = 256
const RING_MAX_CHARACTERS = 1_000_000

/** The updates of one account, computed once for all of its readers. */
export class AccountUpdates {
  readonly readers = new Set<UpdateReader>()
  readonly refused = new Tally()
  /** Decisions that were recorded since the last round. */
  decided = 0
  /** Those of the round before: the access log has them now. */
  #logged = 0
  /** Monotonic milliseconds of the last time when there was a reader. */
  usedAtMs = 0
  readonly #epoch: string
  #count = 0
  #ring: { readonly count: number; readonly update: NumberedUpdate }[] = []
  #ringCharacters = 0
  /** New readers, and readers that have missed updates: they get a snapshot. */
  readonly #fresh = new Map<UpdateReader, Snapshot['why']>()
  #streams: readonly StreamOnAir[] | null = null
  #figures: readonly StreamOnAir[] = []
  #slow: SlowFacts | null = null
  /** Ids of the edits that were looked at last; null: none yet. */
  #edits: ReadonlySet<number> | null = null

  /** @param epoch unique to this object, so that no id of another process or time is taken for one of these */
  constructor(epoch: string) {
    this.#epoch = epoch
  }

  /** Adds a reader: it gets what came after `lastId`, or else a snapshot with the next look. */
  add(reader: UpdateReader, lastId: string | null): void {
    this.readers.add(reader)
    const missed = lastId === null ? null : this.#after(lastId)
    if (missed === null) this.#fresh.set(reader, lastId === null ? 'new' : 'missed')
    else for (const update of missed) reader.send(update)
  }

  remove(reader: UpdateReader): void {
    this.readers.delete(reader)
    this.#fresh.delete(reader)
  }

  /** Takes the streams on the air. Figures wait for their turn; starts and ends do not. */
  streamsAre(streams: readonly StreamOnAir[], withFigures: boolean): void {
    if (this.#streams !== null) for (const update of stateUpdates(this.#streams, streams)) this.#publish(update)
    if (this.#streams === null) this.#figures = streams
    this.#streams = streams
    if (!withFigures) return
    for (const update of figureUpdates(this.#figures, streams)) this.#publish(update)
    this.#figures = streams
    this.#publishRefusals()
    this.#publishDecisions()
  }

  slowFactsAre(facts: SlowFacts): void {
    const before = this.#slow
    this.#slow = facts
    if (before === null) return
    for (const [webhookId, until] of facts.paused)
      if (before.paused.get(webhookId) !== until) this.#publish({ name: 'webhookPaused', data: { webhookId, until } })
    for (const webhookId of before.paused.keys())
      if (!facts.paused.has(webhookId)) this.#publish({ name: 'webhookResumed', data: { webhookId } })
    for (const [engineId, { channelId, status }] of facts.engines)
      if (before.engines.get(engineId)?.status !== status)
        this.#publish({ name: 'engineChanged', data: { engineId, channelId, status } })
    for (const [engineId, { channelId }] of before.engines)
      if (!facts.engines.has(engineId))
        this.#publish({ name: 'engineChanged', data: { engineId, channelId, status: 'stopped' } })
  }

  /** False: `editsAre` has to say first what was edited before. */
  get knowsEdits(): boolean {
    return this.#edits !== null
  }

  /** Takes the newest edits, in any order: a transaction may take its number early and commit late. */
  editsAre(edits: readonly Edit[]): void {
    const before = this.#edits
    this.#edits = new Set(edits.map(({ id }) => id))
    const kinds = before === null ? [] : kindsOf(edits.filter(({ id }) => !before.has(id)))
    if (kinds.length > 0) this.#publish({ name: 'edited', data: { kinds } })
  }

  /** Sends the snapshot to readers that need one. Call it after `streamsAre`. */
  welcome(): void {
    const streams = this.#streams
    if (streams === null) return
    for (const [reader, why] of this.#fresh) {
      const snapshot: Snapshot = { why, ...totalsOf(streams), streams }
      reader.send({ id: this.#idOf(this.#count), name: 'reset', json: JSON.stringify(snapshot) })
    }
    this.#fresh.clear()
  }

  #publishRefusals(): void {
    const counts = [...this.refused].map(([code, count]) => ({ code, count }))
    if (counts.length === 0) return
    this.refused.clear()
    this.#publish({ name: 'refusals', data: { counts } })
  }

  /** The access log is written every second, so that what was decided in the round before can be read. */
  #publishDecisions(): void {
    const count = this.#logged
    this.#logged = this.decided
    this.decided = 0
    if (count > 0) this.#publish({ name: 'decisions', data: { count } })
  }

  #publish({ name, data }: Update): void {
    this.#count += 1
    const update = { id: this.#idOf(this.#count), name, json: JSON.stringify(data) }
    this.#keep(update)
    for (const reader of this.readers) if (!this.#fresh.has(reader)) reader.send(update)
  }

  #keep(update: NumberedUpdate): void {
    this.#ring.push({ count: this.#count, update })
    this.#ringCharacters += update.json.length
    while (this.#ring.length > RING_MAX || this.#ringCharacters > RING_MAX_CHARACTERS)
      this.#ringCharacters -= this.#ring.shift()?.update.json.length ?? 0
  }

  /** The updates after an id; null: it is not one of these, or too old. */
  #after(lastId: string): NumberedUpdate[] | null {
    const [epoch, text] = lastId.split('-')
    const last = epoch === this.#epoch && /^\d{1,15}$/.test(text ?? '') ? Number(text) : null
    if (last === null || last > this.#count) return null
    const missed = this.#ring.filter(({ count }) => count > last)
    return missed.length === this.#count - last ? missed.map(({ update }) => update) : null
  }

  #idOf(count: number): string {
    return `${this.#epoch}-${count}`
  }
}
