import type { ChannelSettings } from '../../src/core/channels/types.ts'

/** One region without addresses for publishers, and no private source. */
export const CHANNEL_SETTINGS: ChannelSettings = {
  regions: ['local'],
  rtmpUrl: '',
  srtUrl: '',
  sources: { allowPrivate: false, hasAddress: () => false, isOurs: () => false },
  refuseKey: () => null,
  viewerClaim: 'streaming',
}
