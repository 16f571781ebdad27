import { gzipSync } from 'node:zlib'
import type { RenditionFacts } from '../../../core/hls/facts.ts'
import { hlsPlaylist, type PlaylistOptions } from '../../../core/hls/playlist.ts'

/** A playlist as it is now, the same bytes for all viewers. */
export class SharedPlaylist {
  readonly plain: Buffer
  readonly hasParts: boolean
  #gzipped: Buffer | null = null

  constructor(facts: RenditionFacts, options: PlaylistOptions) {
    this.plain = Buffer.from(hlsPlaylist(facts, options))
    this.hasParts = facts.partSeconds !== null
  }

  /** Compressed once, for the first viewer that takes it: a few kilobytes. */
  get gzipped(): Buffer {
    this.#gzipped ??= gzipSync(this.plain)
    return this.#gzipped
  }
}

/** Writes each playlist once, for all viewers that wait for the same part. Facts stay one object until they change. */
export class SharedPlaylists {
  readonly #options: () => PlaylistOptions
  readonly #written = new WeakMap<RenditionFacts, SharedPlaylist>()

  /** @param options read when a playlist is written */
  constructor(options: () => PlaylistOptions) {
    this.#options = options
  }

  of(facts: RenditionFacts): SharedPlaylist {
    const written = this.#written.get(facts) ?? new SharedPlaylist(facts, this.#options())
    this.#written.set(facts, written)
    return written
  }
}
