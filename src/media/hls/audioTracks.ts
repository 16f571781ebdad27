import type { IngestAudio } from '../../core/channels/types.ts'
import type { AudioTrackFacts, VariantFacts } from '../../core/hls/facts.ts'
import { AudioOnly } from './audioOnly.ts'
import type { AudioFollower } from './packager.ts'
import type { HlsRendition } from './rendition.ts'

/** What players show of an audio track. */
export type ListedAudio = Pick<IngestAudio, 'language' | 'label'>

/** What is made of the tracks now. */
interface MadeAudio {
  /** Bits per second; 0: there is none. */
  readonly audio: number
  /** The indexes of those that the source has (`Frame.audioIndex`). Absent: one audio is in all of them. */
  readonly audioTracks?: readonly number[]
}

/**
 * The audio tracks that viewers of a channel choose from. With several, each is a rendition of its own beside video without
 * audio. All of them go on as long as the stream: one that the source lacks has the first audio of the source, and is not
 * listed. One that falls silent is silent.
 */
export class AudioTracks {
  /** Names of the renditions; none: the only track is in the media of variants. */
  readonly renditions: readonly string[]
  readonly #group: string
  readonly #listed: readonly ListedAudio[]
  #made: readonly { readonly rendition: HlsRendition; readonly writer: AudioOnly }[] = []

  /** @param before how many other renditions there are */
  constructor(engineId: string, listed: readonly ListedAudio[], before: number) {
    this.#group = `audio-${engineId}`
    this.#listed = listed
    this.renditions = listed.length > 1 ? listed.map((_, index) => String(before + index)) : []
  }

  /** Whether variants with video have no audio of their own. */
  get areSeparate(): boolean {
    return this.renditions.length > 0
  }

  /** Called once. */
  open(renditionOf: (name: string) => HlsRendition): void {
    this.#made = this.renditions.map((name) => {
      const rendition = renditionOf(name)
      return { rendition, writer: new AudioOnly(rendition, () => undefined) }
    })
  }

  followers({ audioTracks = [] }: MadeAudio): AudioFollower[] {
    const further = audioTracks.slice(1)
    return this.#made.map(({ writer }, index) => ({
      rendition: writer,
      audioIndex: further.includes(index) ? index : 0,
    }))
  }

  /** Those that players may choose now. */
  facts({ audio, audioTracks }: MadeAudio): AudioTrackFacts[] {
    const all = this.#listed.map((track, index) => ({ ...track, index }))
    const there = all.filter(({ index }) => audio > 0 && audioTracks?.includes(index) !== false)
    return there.map(({ index, ...track }, at) => ({
      ...track,
      group: this.#group,
      rendition: this.renditions[index] ?? null,
      isDefault: at === 0,
    }))
  }

  /** A variant with what players choose beside it. */
  beside(variant: VariantFacts, { audio }: MadeAudio): VariantFacts {
    if (this.#listed.length === 0 || variant.size === null || audio === 0) return variant
    const codecs = this.#made.slice(0, 1).map(({ rendition }) => rendition.variant().codecs)
    return { ...variant, codecs: [variant.codecs, ...codecs].join(','), audioGroup: this.#group }
  }
}
