import type { Clock } from '../base/clock.ts'
import { PROTOCOL_FACTS, type Protocol } from '../core/access/protocols.ts'
import type { TraceStep } from '../core/access/types.ts'
import {
  type Beat,
  EGRESS_MARK,
  egressOf,
  FULL_REASONS,
  type FullReason,
  hear,
  lookAt,
  type NodeLoadReading,
  type ProcessLoad,
  type SentBytes,
  takesPublishers,
  takesViewers,
  UNMARKED,
  withSent,
} from '../core/nodes/load.ts'
import type { MediaEngine } from '../media/engine.ts'

export interface NodeLoadOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Whether all slots for viewers are taken. */
  readonly hasNoSlot: () => boolean
  /** Bytes that viewers and targets were sent since the start; they only rise. */
  readonly bytesOut: () => number
  /** The most that this node may send, bits per second; 0: no limit. */
  readonly maxEgress: () => number
}

/** A client that wants a session. */
export interface Newcomer {
  readonly action: 'publish' | 'view'
  readonly protocol: Protocol
  /** `accountId/streamName`; null: not known yet. */
  readonly room: string | null
}

/**
 * Whether this node takes newcomers. Those who have a session keep it, and nothing here touches their media: refusing
 * newcomers is what keeps their quality. `core/nodes/load.ts` has the marks.
 */
export class NodeLoad {
  /** Set by what starts the engine; null: there is none. */
  engine: Pick<MediaEngine, 'processes' | 'processFor' | 'viewersOf'> | null = null
  readonly #options: NodeLoadOptions
  readonly #processes = new Map<number, ProcessLoad>()
  #sent: readonly SentBytes[] = []
  #egress = UNMARKED

  constructor(options: NodeLoadOptions) {
    this.#options = options
  }

  /** A media process lives, and says how busy it is. */
  heard({ process, load, meanMs }: Omit<Beat, 'watching'> & { readonly process: number }): void {
    const before = this.#processes.get(process) ?? null
    const beat = { load, meanMs, watching: this.#watching(process) }
    this.#processes.set(process, hear(before, beat, this.#options.clock.monotonic()))
  }

  /** A media process has ended. The one that replaces it has nothing to do yet. */
  forget(process: number): void {
    this.#processes.delete(process)
  }

  /** Looks at what this node sends. Call it every second. */
  sample(): void {
    const { clock, bytesOut, maxEgress } = this.#options
    const atMs = clock.monotonic()
    this.#sent = withSent(this.#sent, { atMs, bytes: bytesOut() })
    const [rate, most] = [egressOf(this.#sent), maxEgress()]
    this.#egress = most === 0 || rate === null ? UNMARKED : lookAt(this.#egress, EGRESS_MARK, rate / most, atMs)
  }

  /** The load now. */
  reading(): NodeLoadReading {
    const loads = [...this.#processes.values()].map(({ load }) => load)
    const sum = loads.reduce((total, load) => total + load, 0)
    const count = Math.max(loads.length, this.engine?.processes ?? 0)
    const is: Record<FullReason, boolean> = {
      sessions: this.#options.hasNoSlot(),
      media: this.#isMediaFull(),
      egress: this.#egress.isFull,
    }
    return {
      full: FULL_REASONS.filter((reason) => is[reason]),
      mediaPercent: loads.length === 0 ? null : Math.min(100, Math.round((sum / count) * 100)),
      egressBitrate: egressOf(this.#sent),
    }
  }

  /** What a trace says if this node takes no such newcomer because of its load; null: it does, as far as slots last. */
  refusalOf({ action, protocol, room }: Newcomer): TraceStep | null {
    if (action === 'view' && this.#egress.isFull) return refused(this.#egressText())
    const process = PROTOCOL_FACTS[protocol].usesMediaProcess ? this.#fullProcessFor(action, room) : null
    if (process !== null) return refused(busyText(process))
    return action === 'view' && this.#isMediaFull() ? refused(ALL_BUSY) : null
  }

  /** Every process that may serve is full: then the next room finds none. */
  #isMediaFull(): boolean {
    const full = [...this.#processes].filter(([index, process]) => !takesViewers(process, this.#watching(index)))
    return full.length > 0 && full.length >= (this.engine?.processes ?? 0)
  }

  /** A publisher of a room that is there brings no viewers that are not there already, so it is taken. */
  #fullProcessFor(action: Newcomer['action'], room: string | null): ProcessLoad | null {
    if (room === null || this.engine === null) return null
    const isViewer = action === 'view'
    const found = this.engine.processFor(room, isViewer ? 'viewer' : 'source')
    const process = this.#processes.get(found.process)
    if (process === undefined || (!isViewer && found.hasRoom)) return null
    const takes = isViewer ? takesViewers(process, this.#watching(found.process)) : takesPublishers(process)
    return takes ? null : process
  }

  #watching(process: number): number {
    return this.engine?.viewersOf(process) ?? 0
  }

  #egressText(): string {
    const [rate, most] = [egressOf(this.#sent) ?? 0, this.#options.maxEgress()]
    return `this node sends ${megabits(rate)} of ${megabits(most)} Mbit/s`
  }
}

const ALL_BUSY = 'all media processes of this node are busy'

const busyText = ({ load, isBehind }: ProcessLoad): string => {
  const busy = `the media process of this stream was busy for ${Math.round(load * 100)} % of the last second`
  return isBehind ? `${busy}, and is behind with its media` : busy
}

const refused = (detail: string): TraceStep => ({ check: 'node', outcome: 'fail', detail })

const megabits = (bits: number): string => (bits / 1e6).toFixed(0)
