import type { Clock } from '../base/clock.ts'
import { SetIndex } from '../base/setIndex.ts'
import { CODECS } from './codecs/codecs.ts'
import type { Frame, FrameSink, FrameSource, TrackInfo, VideoTrack } from './frame.ts'
import { MAX_LAYERS, MainLayer, mainLayerAlone } from './layers.ts'

/** A publisher that sends a layer of a source, beside the main one. */
export interface LayerPublisher {
  /** Of its layer, as viewers choose it. */
  readonly name: string
  /** Among those that send this layer; null: the lowest. */
  readonly priority: number | null
  /** Another one of its priority sends the layer now. */
  replaced(): void
  /** Its video does not fit the main one's. @param why for the person who publishes */
  refused(why: string): void
  /** A keyframe came, and no main one is here. */
  waits(): void
}

/** The media of a publisher. */
export interface PublisherMedia {
  /** What takes it, until its end. */
  readonly sink: FrameSink
  /** Of its feed. Null: it has none, since that of the main publisher shows its layer. */
  readonly media: FrameSource | null
}

/** The publishers of sources that several send, by source. */
interface Members {
  readonly clock: Pick<Clock, 'monotonic'>
  /** The one on the air, and its spares. */
  readonly mains: SetIndex<string, Main>
  readonly layers: SetIndex<string, Layer>
}

/**
 * Sources whose layers come from several publishers of this node, each with a connection and a clock of its own. The main one is the
 * broadcast, with the sound. The others add their video to it, and wait while there is none.
 */
export class Simulcast {
  readonly #members: Members

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#members = { clock, mains: new SetIndex(), layers: new SetIndex() }
  }

  /**
   * The main publisher of a source. Its feed has its own layer alone.
   * @param source unique among those of all streams
   * @param name of its layer
   * @param hub gets its media with the layers of the others
   */
  main(source: string, name: string, hub: FrameSink & FrameSource): PublisherMedia {
    return { sink: new MainLayer(new Main(this.#members, { source, name, sink: hub })), media: mainLayerAlone(hub) }
  }

  /** Another publisher of the source. */
  layer(source: string, publisher: LayerPublisher): PublisherMedia {
    return { sink: new MainLayer(new Layer(this.#members, source, publisher)), media: null }
  }
}

/** A link is congested for a shorter time; a clock that drifts by 200 parts per million is 12 ms off after twice as long. */
const WINDOW_MS = 30_000

/** Tells the clocks of publishers apart: by the frame of each, of its last minute, that came soonest after its time. */
class ArrivalClock {
  /** Arrival less media time, milliseconds: the least of this window and of the one before. */
  #least = Number.POSITIVE_INFINITY
  #leastBefore = Number.POSITIVE_INFINITY
  #windowMs = Number.NEGATIVE_INFINITY

  get originMs(): number {
    return Math.min(this.#least, this.#leastBefore)
  }

  came({ decodeTimeUs }: Frame, nowMs: number): void {
    if (nowMs - this.#windowMs > WINDOW_MS) {
      this.#leastBefore = this.#least
      this.#least = Number.POSITIVE_INFINITY
      this.#windowMs = nowMs
    }
    this.#least = Math.min(this.#least, nowMs - decodeTimeUs / 1000)
  }
}

interface MainOptions {
  readonly source: string
  readonly name: string
  readonly sink: FrameSink
}

/** From one frame of a layer to the next, when one came so soon that the clock of the layer is set back. */
const STEP_US = 1000

class Main implements FrameSink {
  readonly #members: Members
  readonly #options: MainOptions
  readonly #clock = new ArrivalClock()
  #tracks: readonly TrackInfo[] = []
  #shown: readonly Layer[] = []
  /** A keyframe of these has come. */
  readonly #begun = new WeakSet<Layer>()
  /** The decode time of the latest frame of each layer, microseconds, by its name. */
  readonly #latestUs = new Map<string, number>()

  constructor(members: Members, options: MainOptions) {
    this.#members = members
    this.#options = options
    members.mains.add(options.source, this)
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#tracks = tracks
    this.list()
  }

  /** Says what there is now. */
  list(): void {
    const { name, sink } = this.#options
    const video = this.#tracks.find((track) => track.kind === 'video')
    this.#shown = video === undefined ? [] : this.#fitting(video)
    const layers = this.#shown.map(({ track }) => track)
    const tracks = this.#tracks.flatMap((track) => (track === video ? [{ ...track, layer: name }, ...layers] : [track]))
    if (tracks.length > 0) sink.tracks(tracks)
  }

  /** The best publisher of each layer. Refuses those that do not fit. */
  #fitting(video: VideoTrack): Layer[] {
    const { name, source } = this.#options
    return bestOf(this.#members.layers.get(source)).filter(({ publisher, track }, at) => {
      const misfit = misfitOf(publisher.name, track, { name, video, others: at })
      if (misfit !== null) publisher.refused(misfit)
      return misfit === null
    })
  }

  frame(frame: Frame): void {
    const { name, sink } = this.#options
    if (frame.kind === 'audio') return sink.frame(frame)
    this.#clock.came(frame, this.#members.clock.monotonic())
    sink.frame({ ...frame, layer: name })
  }

  /**
   * A frame of a layer gets the time of the main one's that come with it, and never one before the last. The layer begins with a
   * keyframe, after the main one.
   */
  layerFrame(layer: Layer, frame: Frame): void {
    const { name } = layer.publisher
    const apartUs = Math.round((layer.clock.originMs - this.#clock.originMs) * 1000)
    if (!this.#shown.includes(layer) || !Number.isFinite(apartUs)) return
    if (frame.key) this.#begun.add(layer)
    if (!this.#begun.has(layer)) return
    const decodeTimeUs = Math.max(frame.decodeTimeUs + apartUs, (this.#latestUs.get(name) ?? -STEP_US) + STEP_US)
    this.#latestUs.set(name, decodeTimeUs)
    const timeUs = decodeTimeUs + frame.timeUs - frame.decodeTimeUs
    this.#options.sink.frame({ ...frame, layer: name, timeUs, decodeTimeUs })
  }

  end(): void {
    this.#members.mains.remove(this.#options.source, this)
    this.#options.sink.end()
  }
}

class Layer implements FrameSink {
  readonly publisher: LayerPublisher
  readonly clock = new ArrivalClock()
  readonly #members: Members
  readonly #source: string
  #track: VideoTrack | null = null

  constructor(members: Members, source: string, publisher: LayerPublisher) {
    this.#members = members
    this.#source = source
    this.publisher = publisher
  }

  /** As viewers get it. */
  get track(): VideoTrack {
    if (this.#track === null) throw new Error('a layer begins with its track')
    return this.#track
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const video = tracks.find((track) => track.kind === 'video')
    if (video === undefined) return
    const isNew = this.#track === null
    this.#track = { ...video, layer: this.publisher.name }
    if (isNew) this.#begin()
    this.#list()
  }

  #begin(): void {
    const { layers } = this.#members
    const { name } = this.publisher
    const equals = [...layers.get(this.#source)].filter(
      ({ publisher }) => publisher.name === name && publisher.priority === this.publisher.priority,
    )
    layers.add(this.#source, this)
    for (const { publisher } of equals) publisher.replaced()
  }

  frame(frame: Frame): void {
    if (frame.kind === 'audio') return
    this.clock.came(frame, this.#members.clock.monotonic())
    const mains = this.#members.mains.get(this.#source)
    for (const main of mains) main.layerFrame(this, frame)
    if (frame.key && mains.size === 0) this.publisher.waits()
  }

  end(): void {
    this.#members.layers.remove(this.#source, this)
    this.#list()
  }

  #list(): void {
    for (const main of this.#members.mains.get(this.#source)) main.list()
  }
}

const rankOf = ({ publisher }: Layer): number => publisher.priority ?? Number.NEGATIVE_INFINITY

/** Of the layers with one name that of the highest priority. */
function bestOf(layers: Iterable<Layer>): Layer[] {
  const best = new Map<string, Layer>()
  for (const layer of layers) {
    const rival = best.get(layer.publisher.name)
    if (rival === undefined || rankOf(layer) > rankOf(rival)) best.set(layer.publisher.name, layer)
  }
  return [...best.values()]
}

interface Shown {
  /** Of the main publisher. */
  readonly name: string
  readonly video: VideoTrack
  /** How many layers there are beside it. */
  readonly others: number
}

/** Why a layer cannot be shown, for the person who publishes it; null: it can. */
function misfitOf(layer: string, { codec }: VideoTrack, { name, video, others }: Shown): string | null {
  if (layer === name) return 'The main publisher has the same sourceId: give each layer its own'
  if (others === MAX_LAYERS - 1) return `The source has ${MAX_LAYERS} layers, and cannot have more`
  if (codec === video.codec) return null
  const [own, other] = [CODECS[codec].title, CODECS[video.codec].title]
  return `The layer is ${own}, and the main publisher sends ${other}: send all layers in one codec`
}
