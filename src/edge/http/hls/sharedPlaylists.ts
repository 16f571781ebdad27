import { gzipSync } from 'node:zlib'
import type { RenditionFacts } from '../../../core/hls/facts.ts'
import { hlsPlaylist, type PlaylistOptions } from '../../../core/hls/playlist.ts'

/** A playlist as it is now, the same bytes for all viewers. */
export class SharedPlaylist {
  readonly plain: Buffer
  readonly hasParts: boolean
  /** The time after which it has something new: the part target, or the target duration. */
  readonly stepSeconds: number
  #gzipped: Buffer | null = null

  constructor(text: string) {
    this.plain = Buffer.from(text)
    const [, part] = /PART-TARGET=([\d.]+)/.exec(text) ?? []
    this.hasParts = part !== undefined
    this.stepSeconds = Number(part ?? /TARGETDURATION:(\d+)/.exec(text)?.[1] ?? 1)
  }

  /** Compressed once, for the first viewer that takes it: a few kilobytes. */
  get gzipped(): Buffer {
    this.#gzipped ??= gzipSync(this.plain)
    return this.#gzipped
  }
}

/** Playlists of streams here and at other nodes, each made once for all viewers that wait for the same part. */
export class SharedPlaylists {
  /** By facts, which stay one object until they change, and by what the playlist is made with. */
  readonly #written = new WeakMap<RenditionFacts, Map<string, SharedPlaylist>>()
  readonly #received = new WeakMap<Buffer, SharedPlaylist>()

  of(facts: RenditionFacts, options: PlaylistOptions): SharedPlaylist {
    const { window, parts, holdBackSeconds } = options
    const written = this.#written.get(facts) ?? new Map<string, SharedPlaylist>()
    const key = `${window} ${parts} ${holdBackSeconds}`
    const playlist = written.get(key) ?? new SharedPlaylist(hlsPlaylist(facts, options))
    this.#written.set(facts, written.set(key, playlist))
    return playlist
  }

  /** A playlist that another node has sent. */
  ofText(text: Buffer): SharedPlaylist {
    const playlist = this.#received.get(text) ?? new SharedPlaylist(text.toString())
    this.#received.set(text, playlist)
    return playlist
  }
}
