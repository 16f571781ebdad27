import { percentDecoded } from '../base/percent.ts'
import type { MediaDialling } from './mediaDialling.ts'
import { basicOrBearer, endpointUrl, loadWebRtc, mediaAllows, openRemoteSession } from './remoteSession.ts'
import { coded } from '../core/notices.ts'
import type { PulledSource, PulledSourceOptions, SourceOptions } from '../media/pulling.ts'
import type { Context } from '../commands/context.ts'
import type { Config } from '../config/schema.ts'

/** What of an `App` it takes to read a source. */
export interface SourceApp {
  readonly ctx: Pick<Context, 'clock' | 'random' | 'log'>
  readonly config: Pick<Config, 'rtmp' | 'srt' | 'webrtc'>
}

const MEANS = { 404: coded('source_no_stream'), 406: coded('source_no_codec'), 409: coded('source_not_on_air') }

/** A source over WHEP, whose URL was dialled. */
export async function openWhepSource(
  { ctx, config }: SourceApp,
  how: MediaDialling,
  { url, socket, signal, ...options }: SourceOptions & Pick<PulledSourceOptions, 'url' | 'socket'>,
): Promise<PulledSource> {
  if (signal.aborted) socket.destroy()
  else signal.addEventListener('abort', () => void socket.destroy(), { once: true })
  const [user, secret] = [percentDecoded(url.username), percentDecoded(url.password)]
  const { clock } = ctx
  const means = { name: 'source', means: MEANS, clock, how, signal } as const
  const authorization = basicOrBearer(user, secret)
  const endpoint = { ...means, url: endpointUrl(url), authorization, secret: secret + url.search }
  await loadWebRtc()
  const { WhepPull } = await import('../media/relay/client/whepPull.ts')
  return new WhepPull({
    ...ctx,
    ...options,
    localAddress: socket.localAddress ?? '',
    allows: mediaAllows(how, socket.remoteAddress ?? ''),
    maxBitrate: config.webrtc.maxBitrateKilobits * 1000,
    openSession: (offer) => openRemoteSession(endpoint, socket, offer),
  })
}
