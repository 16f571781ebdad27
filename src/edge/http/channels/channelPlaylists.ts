import type { Distribution } from '../../../core/channels/types.ts'
import { CHANNEL_SEGMENTS } from '../../../core/hls/channel.ts'
import type { RenditionFacts } from '../../../core/hls/facts.ts'
import { hlsPlaylist, type PlaylistOptions } from '../../../core/hls/playlist.ts'
import { SharedPlaylist } from '../hls/sharedPlaylists.ts'

/** Writes each playlist of a channel once, for all distributions with the same settings. */
export class ChannelPlaylists {
  readonly #written = new WeakMap<RenditionFacts, Map<string, SharedPlaylist>>()

  of(facts: RenditionFacts, { llHls, hlsLatencySeconds }: Distribution): SharedPlaylist {
    const bySettings = this.#written.get(facts) ?? new Map<string, SharedPlaylist>()
    const settings = `${llHls} ${hlsLatencySeconds}`
    const playlist = bySettings.get(settings) ?? written(facts, { parts: llHls, holdBackSeconds: hlsLatencySeconds })
    this.#written.set(facts, bySettings.set(settings, playlist))
    return playlist
  }
}

function written(facts: RenditionFacts, options: Omit<PlaylistOptions, 'window'>): SharedPlaylist {
  const plain = Buffer.from(hlsPlaylist(facts, { ...options, window: CHANNEL_SEGMENTS }))
  return new SharedPlaylist(plain, (options.parts ? facts.partSeconds : null) ?? facts.targetSeconds)
}
