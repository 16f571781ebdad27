import { gzipSync } from 'node:zlib'
import type { Clock } from '../../../base/clock.ts'
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

/** A publisher comes back within this time, and with it the first segment, or the stream is over. */
const LATEST_MS = 30_000
const LATEST_MAX = 1000

/** The playlist of each rendition that players got last, for those who ask again while there is none for a moment. */
export class LatestPlaylists {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The one that was sent longest ago first. */
  readonly #sent = new Map<string, { readonly playlist: SharedPlaylist; readonly atMs: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  sent(stream: string, rendition: string, playlist: SharedPlaylist): void {
    const [key, nowMs] = [`${stream}/${rendition}`, this.#clock.monotonic()]
    this.#sent.delete(key)
    this.#sent.set(key, { playlist, atMs: nowMs })
    for (const [oldest, { atMs }] of this.#sent) {
      if (this.#sent.size <= LATEST_MAX && nowMs - atMs < LATEST_MS) return
      this.#sent.delete(oldest)
    }
  }

  /** Null: there is none, or it is too old. */
  find(stream: string, rendition: string): SharedPlaylist | null {
    const found = this.#sent.get(`${stream}/${rendition}`)
    return found !== undefined && this.#clock.monotonic() - found.atMs < LATEST_MS ? found.playlist : null
  }
}
