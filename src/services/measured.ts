import type { Clock } from '../base/clock.ts'
import { Recent } from '../base/recent.ts'
import {
  type IngestSample,
  type LinkCounts,
  MEASURED_MS,
  type MeterReading,
  type MeteredConnection,
  type RenditionSample,
} from '../core/channels/runs/measured.ts'
import type { TargetReading } from '../core/streams/reading.ts'
import { Viewers } from './viewers.ts'

/** At most one sample a second, with some reserve. */
const SAMPLE_MS = 1000
const SAMPLES_MAX = MEASURED_MS / SAMPLE_MS + 20

interface Connection {
  readonly sinceMs: number
}

interface MeasuredIngest {
  /** Open connections. A publisher may come before the end of the one that it replaces. */
  readonly connections: Set<Connection>
  readonly samples: Recent<IngestSample>
}

type MeasuredEngine = Map<number, { readonly name: string; readonly samples: Recent<RenditionSample> }>

/** This node's measurements of the last minutes, in memory. */
export class Measured implements MeterReading {
  /** The id of this process, as engine states name it. */
  readonly node: string
  /** Viewers of distributions at this node. */
  readonly viewers: Viewers
  /** The targets of an engine that runs at this node, as they are now. Set by what sends to them. */
  targetsOf: (engineId: string) => readonly TargetReading[] = () => []
  readonly #clock: Clock
  readonly #ingests = new Map<string, MeasuredIngest>()
  readonly #engines = new Map<string, MeasuredEngine>()

  constructor({ clock }: { readonly clock: Clock }, node: string) {
    this.#clock = clock
    this.node = node
    this.viewers = new Viewers({ clock })
  }

  /** Sources that are connected. */
  get connectedIngests(): number {
    return [...this.#ingests.values()].filter(({ connections }) => connections.size > 0).length
  }

  segment(engineId: string, { index, name }: { index: number; name: string }, sample: RenditionSample): void {
    const engine = this.#engines.get(engineId) ?? new Map()
    if (engine.size === 0) this.#forgetOld()
    const current = engine.get(index)
    const rendition =
      current?.name === name ? current : { name, samples: new Recent<RenditionSample>(MEASURED_MS, SAMPLES_MAX) }
    rendition.samples.add(sample)
    this.#engines.set(engineId, engine.set(index, rendition))
  }

  connected(ingestId: string, address: string | null): MeteredConnection {
    this.#forgetOld()
    const ingest = this.#ingests.get(ingestId) ?? {
      connections: new Set(),
      samples: new Recent(MEASURED_MS, SAMPLES_MAX),
    }
    this.#ingests.set(ingestId, ingest)
    const connection = { sinceMs: this.#clock.now() }
    ingest.connections.add(connection)
    let last = { atMs: connection.sinceMs, bytes: 0, link: NO_PACKETS }
    return {
      received: (bytes, link) => {
        // Samples are of one connection at a time.
        const [oldest] = ingest.connections
        const atMs = this.#clock.now()
        if (oldest !== connection || atMs - last.atMs < SAMPLE_MS) return
        const bitrate = Math.round(((bytes - last.bytes) * 8000) / (atMs - last.atMs))
        ingest.samples.add({ atMs, bitrate, address, ...linkFigures(last.link, link) })
        last = { atMs, bytes, link: link ?? NO_PACKETS }
      },
      ended: () => void ingest.connections.delete(connection),
    }
  }

  /** In the order of the ladder; empty if the engine produced nothing in the last minutes. */
  renditions(engineId: string, fromMs: number, untilMs: number): { name: string; samples: RenditionSample[] }[] {
    return [...(this.#engines.get(engineId) ?? [])]
      .sort(([a], [b]) => a - b)
      .map(([, { name, samples }]) => ({ name, samples: samples.within(fromMs, untilMs) }))
  }

  /** `sinceMs`: when the source connected; null if it is not connected to this node. */
  ingest(ingestId: string, fromMs: number, untilMs: number): { sinceMs: number | null; samples: IngestSample[] } {
    const found = this.#ingests.get(ingestId)
    const [oldest = null] = [...(found?.connections ?? [])].map(({ sinceMs }) => sinceMs)
    return { sinceMs: oldest, samples: found?.samples.within(fromMs, untilMs) ?? [] }
  }

  /** Drops ended connections whose samples are too old to be read. */
  #forgetOld(): void {
    const since = this.#clock.now() - MEASURED_MS
    const isOld = ({ lastAtMs }: { lastAtMs: number | null }): boolean => (lastAtMs ?? 0) < since
    for (const [id, { connections, samples }] of this.#ingests) {
      if (connections.size === 0 && isOld(samples)) this.#ingests.delete(id)
    }
    for (const [id, engine] of this.#engines) {
      if ([...engine.values()].every(({ samples }) => isOld(samples))) this.#engines.delete(id)
    }
  }
}

const NO_PACKETS: LinkCounts = { packets: 0, lost: 0 }

function linkFigures(before: LinkCounts, link?: LinkCounts): Pick<IngestSample, 'packetLoss' | 'roundTripMs'> {
  if (link === undefined) return { packetLoss: null, roundTripMs: null }
  const packets = link.packets - before.packets
  const share = packets > 0 ? Math.min(1, Math.max(0, link.lost - before.lost) / packets) : null
  return {
    packetLoss: share === null ? null : Math.round(share * 10_000) / 10_000,
    roundTripMs: link.roundTripMs === undefined ? null : Math.round(link.roundTripMs),
  }
}
