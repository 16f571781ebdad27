import type { Logger } from '../../base/log.ts'
import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../frame.ts'
import { isOfMain } from '../layers.ts'
import { Reordering } from '../reordering.ts'
import type { EncodingSeat } from './encodingRoom.ts'
import { asH264, type Carried, type Form, OPUS } from './form.ts'

interface AnnouncementOptions {
  readonly form: Form
  readonly seat: EncodingSeat
  readonly log: Logger
  /** For the log: `accountId/streamName`. */
  readonly name: string
}

const NO_ROOM = 'this machine has no room to encode a broadcast for viewers over WebRTC: they are refused until it has'

/** Calls `listener` with the tracks that a subscriber to this form of a source would get, without converting anything. */
export class Announcement implements FrameSink {
  readonly takesLayers = true
  readonly #options: AnnouncementOptions
  readonly #listener: (tracks: readonly TrackInfo[]) => void
  readonly #reordering = new Reordering()
  #all: readonly TrackInfo[] = []
  #video: VideoTrack | undefined
  #layers: readonly VideoTrack[] = []
  /** The video may pass as it is. */
  #mayPass = false
  /** What the listener heard; null: nothing yet. */
  #said: Carried | null = null
  /** It has to hear, also what it has heard before. */
  #isDue = true
  #isWarned = false

  constructor(options: AnnouncementOptions, listener: (tracks: readonly TrackInfo[]) => void) {
    this.#options = options
    this.#listener = listener
  }

  /** True: the video has to be encoded, and this machine has no room for that. */
  get lacksRoom(): boolean {
    return this.#options.form.otherwise === 'encoded' && this.#said === 'none'
  }

  /** The listener has heard something else meanwhile: it is told again with the next keyframe. */
  again(): void {
    this.#isDue = true
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const { passes } = this.#options.form
    const [video, ...layers] = tracks.filter((track) => track.kind === 'video')
    this.#all = tracks
    this.#video = video
    this.#layers = layers.filter(passes)
    this.#mayPass = video !== undefined && passes(video)
    this.#reordering.tracks(tracks)
    this.#isDue = true
    this.#isWarned = false
    this.#look()
  }

  frame(frame: Frame): void {
    if (frame.kind === 'audio' || !isOfMain(frame, this.#video?.layer)) return
    this.#mayPass &&= this.#reordering.look(frame) !== 'yes'
    // The room of this machine changes.
    if (this.#mayPass || frame.key || this.#said === 'copied') this.#look()
  }

  end(): void {}

  #look(): void {
    const carried = this.#carried()
    if (carried === this.#said && !this.#isDue) return
    this.#said = carried
    this.#isDue = false
    this.#listener(this.#tracksAs(carried))
    if (this.lacksRoom) this.#warn()
  }

  #warn(): void {
    const { log, name } = this.#options
    if (!this.#isWarned) log.warn({ name, codec: this.#video?.codec }, NO_ROOM)
    this.#isWarned = true
  }

  #carried(): Carried {
    const { form, seat } = this.#options
    // What viewers can do without is announced when frames have shown that it can be carried.
    const isCopied = this.#mayPass && (form.otherwise !== 'none' || this.#reordering.isDecided)
    if (isCopied) return 'copied'
    if (form.otherwise !== 'encoded') return form.otherwise
    if (this.#video === undefined) return 'dropped'
    return seat.isFor(this.#video) ? 'encoded' : 'none'
  }

  #tracksAs(carried: Carried): TrackInfo[] {
    if (carried === 'none') return []
    const audio = this.#all.some(({ kind }) => kind === 'audio') ? [OPUS] : []
    const video = this.#video
    if (video === undefined || carried === 'dropped') return audio
    return carried === 'copied' ? [video, ...this.#layers, ...audio] : [asH264(video), ...audio]
  }
}
