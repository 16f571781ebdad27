import type { FastifyInstance } from 'fastify'
import type { Context } from '../../commands/context.ts'
import { DistributionAdmissions } from './channels/distributionAdmissions.ts'
import { GrantViewers } from './channels/grantViewers.ts'
import type { PlaybackOptions, PlaybackParts } from './channels/playback.ts'
import { playbackRoutes } from './channels/playbackRoutes.ts'
import type { FastPathOptions } from './fastPath.ts'
import type { HlsFastPaths } from './hls/fastPath.ts'
import type { HlsRouteOptions, SharedHls } from './hls/parts.ts'
import { hlsRoutes } from './hls/routes.ts'
import type { PeerOf } from './peer.ts'

export interface ViewingOptions extends HlsRouteOptions {
  readonly playback: PlaybackOptions
}

/** The HLS of feeds and of distributions: one route for the media of both. */
export async function viewingRoutes(
  app: FastifyInstance,
  ctx: Context,
  peerOf: PeerOf,
  options: ViewingOptions & FastPathOptions,
  shared: SharedHls,
): Promise<HlsFastPaths> {
  const parts: PlaybackParts = { ...options.playback, ...shared, ctx, peerOf, viewers: new GrantViewers() }
  await playbackRoutes(app, parts)
  return hlsRoutes(app, ctx, peerOf, { ...options, ...shared, distributions: new DistributionAdmissions(parts) })
}
