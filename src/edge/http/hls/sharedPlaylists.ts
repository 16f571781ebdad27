import { gzipSync } from 'node:zlib'
import type { RenditionFacts } from '../../../core/hls/facts.ts'
import { hlsPlaylist, type PlaylistOptions } from '../../../core/hls/playlist.ts'

/** A playlist as it is now, the same bytes for all viewers. */
export class SharedPlaylist {
  readonly plain: Buffer
  /** The time after which it has something new: the part target, or the target duration. */
  readonly stepSeconds: number
  #gzipped: Buffer | null = null

  constructor(plain: Buffer, stepSeconds: number) {
    this.plain = plain
    this.stepSeconds = stepSeconds
  }

  /** Compressed once, for the first viewer that takes it: a few kilobytes. */
  get gzipped(): Buffer {
    this.#gzipped ??= gzipSync(this.plain)
    return this.#gzipped
  }
}

/** Playlists of streams here and at other nodes, each made once for all viewers that wait for the same part. */
export class SharedPlaylists {
  readonly #options: () => PlaylistOptions
  /** By facts, which stay one object until they change, and by the text of another node. */
  readonly #made = new WeakMap<RenditionFacts | Buffer, SharedPlaylist>()

  /** @param options read when a playlist is written */
  constructor(options: () => PlaylistOptions) {
    this.#options = options
  }

  of(facts: RenditionFacts): SharedPlaylist {
    const { partSeconds, targetSeconds } = facts
    return this.#once(facts, () => {
      const plain = Buffer.from(hlsPlaylist(facts, this.#options()))
      return new SharedPlaylist(plain, partSeconds ?? targetSeconds)
    })
  }

  ofText(text: Buffer): SharedPlaylist {
    return this.#once(text, () => new SharedPlaylist(text, stepOf(text.toString())))
  }

  #once(source: RenditionFacts | Buffer, make: () => SharedPlaylist): SharedPlaylist {
    const made = this.#made.get(source) ?? make()
    this.#made.set(source, made)
    return made
  }
}

const stepOf = (text: string): number =>
  Number((/PART-TARGET=([\d.]+)/.exec(text) ?? /TARGETDURATION:(\d+)/.exec(text))?.[1] ?? 1)
