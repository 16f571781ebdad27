import { Client, type ClientOptions } from './client.ts'
import { codecPreference, type VideoCodec } from './codecs.ts'
import type { SluiceError, SluiceErrorCode } from './errors.ts'

export interface PublisherOptions extends ClientOptions {
  /** The video codec. Default: the first that browser and server share. */
  readonly codec?: VideoCodec | undefined
  /** Bits per second of the video; with simulcast of its largest layer. Default 2,500,000. */
  readonly maxBitrate?: number | undefined
  /** Sends the video in three sizes, so that each viewer gets the one that its bandwidth allows. Default false. */
  readonly simulcast?: boolean | undefined
  /** After an interruption of this length the broadcast is over. Default 60,000. */
  readonly giveUpAfterMs?: number | undefined
}

/** What a publisher returns from. If the server ended the broadcast, its owner wanted that. */
const RETURNS_AFTER: ReadonlySet<SluiceErrorCode> = new Set([
  'connection_lost',
  'not_connected',
  'no_answer',
  'busy',
  'too_many',
  'moved',
])

/** Broadcasts over WHIP. The endpoint is `/api/whip/{stream}`; the account comes from the token. */
export class WhipPublisher extends Client {
  readonly #options: PublisherOptions
  /** Reports of what arrived. */
  protected override readonly hears = 'candidate-pair'
  protected override readonly mayReturn = true
  #media: MediaStream | null = null

  constructor(options: PublisherOptions) {
    super(options)
    this.#options = options
  }

  /**
   * Sends the tracks of `media`. Resolves when they are on the air.
   * @throws SluiceError when the server refuses, or the connection does not come up
   */
  start(media: MediaStream): Promise<void> {
    this.#media = media
    return this.begin(() => undefined)
  }

  /** Sends this track instead of the one of the same kind, for example that of another camera. */
  async replaceTrack(track: MediaStreamTrack): Promise<void> {
    const media = this.#media
    const old = media?.getTracks().find(({ kind }) => kind === track.kind)
    if (!media || !old) return
    this.#media = new MediaStream([...media.getTracks().filter((each) => each !== old), track])
    await this.pc
      ?.getSenders()
      .find((sender) => sender.track === old)
      ?.replaceTrack(track)
  }

  protected override parameters(): Readonly<Record<string, string | undefined>> {
    return { ...super.parameters(), codec: this.#options.codec }
  }

  protected override prepare(pc: RTCPeerConnection): void {
    const { codec } = this.#options
    for (const track of this.#media?.getTracks() ?? []) {
      const isVideo = track.kind === 'video'
      const sendEncodings = isVideo ? this.#encodings() : []
      const transceiver = pc.addTransceiver(track, { direction: 'sendonly', sendEncodings })
      if (isVideo && codec) transceiver.setCodecPreferences(codecPreference(codec))
    }
  }

  /** Each layer has about a third of the bits of the next larger one. */
  #encodings(): RTCRtpEncodingParameters[] {
    const { maxBitrate = 2_500_000, simulcast = false } = this.#options
    if (!simulcast) return [{ maxBitrate }]
    return [
      { rid: 'q', scaleResolutionDownBy: 4, maxBitrate: Math.round(maxBitrate / 9) },
      { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: Math.round(maxBitrate / 3) },
      { rid: 'f', maxBitrate },
    ]
  }

  /** Never long after the interruption: a machine that wakes up from sleep must not be on the air again. */
  protected override triesAgain({ code }: SluiceError, lostAtMs: number | null): boolean {
    const { giveUpAfterMs = 60_000 } = this.#options
    return lostAtMs !== null && this.env.now() - lostAtMs < giveUpAfterMs && RETURNS_AFTER.has(code)
  }
}
