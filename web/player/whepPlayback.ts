import { type ClientState, type MediaStats, type SluiceError, type ViewerLayer, WhepViewer } from '../client/index.ts'
import {
  type Figures,
  kilobits,
  type Level,
  type Playback,
  type PlaybackState,
  type PlaybackTarget,
} from './playback.ts'

/** A network that blocks WebRTC is no reason to wait longer: HLS is next. */
const CONNECT_TIMEOUT_MS = 5000
const LOOK_MS = 2000
/** Without media for this number of looks, the publisher is gone; Sluice keeps its viewers for some seconds. */
const LOOKS_WITHOUT_MEDIA = 2

const STATES: Readonly<Record<Exclude<ClientState, 'idle' | 'ended'>, PlaybackState>> = {
  connecting: 'connecting',
  waiting: 'waiting',
  live: 'playing',
  reconnecting: 'interrupted',
}

/** Plays over WHEP. */
export class WhepPlayback implements Playback {
  readonly delivery = 'whep'
  readonly #target: PlaybackTarget
  readonly #viewer: WhepViewer
  #layerIds: readonly string[] = []
  /** The layer that the viewer has chosen; null: the bandwidth decides. */
  #choice: string | null = null
  #figures: Figures | null = null
  #looksWithoutMedia = 0
  #stopLooking: () => void = () => undefined
  readonly #shown = (): void => this.#viewer.frameIsShown(this.#target.video.videoHeight)

  constructor(target: PlaybackTarget) {
    const { url, token, sourceId, environment, video, reports, startedAs } = target
    this.#target = target
    this.#viewer = new WhepViewer({
      url,
      token,
      sourceId,
      environment,
      reports,
      startedAs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onState: (state, reason) => this.#changed(state, reason),
      onMedia(media) {
        video.srcObject = media
        target.onMedia()
      },
    })
  }

  get wantedAtMs(): number {
    return this.#viewer.wantedAtMs
  }

  start(): void {
    this.#target.video.addEventListener('loadeddata', this.#shown)
    void this.#viewer.start()
    this.#look()
  }

  stop(): void {
    this.#stopLooking()
    this.#target.video.removeEventListener('loadeddata', this.#shown)
    this.#target.onLevels([], -1)
    void this.#viewer.stop()
    this.#target.video.srcObject = null
  }

  choose(level: number): void {
    this.#choice = this.#layerIds[level] ?? null
    void this.#showLayers(this.#choice)
  }

  /** Each viewer that looks costs a request, so only those who open the settings do. */
  lookForLevels(): void {
    void this.#showLayers()
  }

  async #showLayers(choice?: string | null): Promise<void> {
    const described = await this.#viewer.layers(choice)
    if (described === null || this.#viewer.state === 'ended') return
    const { layers, chosen } = described
    const ids = layers.map(({ encodingId }) => encodingId)
    this.#layerIds = ids
    const levels = layers.map((layer, id): Level => ({ id, label: nameOf(layer, layers) }))
    this.#target.onLevels(levels.length > 1 ? levels : [], chosen === null ? -1 : ids.indexOf(chosen))
  }

  async figures(): Promise<Figures | null> {
    return this.#figures
  }

  #changed(state: ClientState, reason: SluiceError | null): void {
    if (state === 'ended') {
      this.#stopLooking()
      if (reason !== null) this.#target.onEnd(reason)
    } else if (state !== 'idle') this.#target.onState(STATES[state], reason)
    // It may be a new session, which knows no choice.
    if (state === 'live' && this.#choice !== null) void this.#showLayers(this.#choice)
  }

  /** Reads the figures again and again, and notices when no media arrives although the connection is up. */
  #look(): void {
    this.#stopLooking = this.#target.environment.later(() => {
      this.#look()
      void this.#read()
    }, LOOK_MS)
  }

  async #read(): Promise<void> {
    const stats = this.#viewer.state === 'live' ? await this.#viewer.stats() : null
    if (stats === null || this.#viewer.state !== 'live') {
      this.#looksWithoutMedia = 0
      return
    }
    this.#figures = figuresOf(stats)
    const wasGone = this.#looksWithoutMedia >= LOOKS_WITHOUT_MEDIA
    this.#looksWithoutMedia = stats.bitrate === 0 ? this.#looksWithoutMedia + 1 : 0
    const isGone = this.#looksWithoutMedia >= LOOKS_WITHOUT_MEDIA
    if (isGone !== wasGone) this.#target.onState(isGone ? 'interrupted' : 'playing', null)
  }
}

const figuresOf = ({ video, audioCodec, ...figures }: MediaStats): Figures => ({
  ...figures,
  width: video?.width ?? 0,
  height: video?.height ?? 0,
  framesPerSecond: video?.framesPerSecond || null,
  codecs: [video?.codec, audioCodec].filter(Boolean).join(', '),
})

/** Its height; layers of the same height, and those whose size is not known, also say their bitrate. */
function nameOf({ height, bitrate, encodingId }: ViewerLayer, all: readonly ViewerLayer[]): string {
  const isAlone = height > 0 && all.filter((other) => other.height === height).length === 1
  if (isAlone) return `${height}p`
  const rate = bitrate > 0 ? kilobits(bitrate) : encodingId
  return height > 0 ? `${height}p, ${rate}` : rate
}
