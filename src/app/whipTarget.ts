import type { App } from './app.ts'
import { dialledUrl, type MediaDialling } from './mediaDialling.ts'
import { basicOrBearer, endpointUrl, loadWebRtc, mediaAllows, openRemoteSession } from './remoteSession.ts'
import { err, ok } from '../base/result.ts'
import { coded } from '../core/notices.ts'
import { targetPort } from '../core/restream/targets.ts'
import type { WhipSender, WhipSenderOptions } from '../media/relay/client/whipSender.ts'
import { dial } from '../net/dial.ts'
import type { Stage } from '../net/outcome.ts'
import type { OpenTarget } from '../services/restreams.ts'

const MEANS = {
  404: coded('target_no_endpoint'),
  406: coded('target_no_codec'),
  409: coded('target_in_use'),
}

type Events = Pick<WhipSenderOptions, 'ready' | 'accepted' | 'ended'>

/** Dials a target over WHIP. Its key goes as a bearer token. */
export async function connectWhip(
  { ctx }: App,
  { url: text, key }: OpenTarget,
  { how, signal, reached }: { how: MediaDialling; signal: AbortSignal; reached: (stage: Stage) => void },
): Promise<{ begin(events: Events): WhipSender; close(): void }> {
  await loadWebRtc()
  const { WhipSender: Sender } = await import('../media/relay/client/whipSender.ts')
  const url = endpointUrl(new URL(text))
  const port = targetPort(new URL(text))
  const socket = await dial(dialledUrl(url, port, url.protocol === 'https:'), how(port, 'tcp'), signal, reached)
  const close = (): void => void socket.destroy()
  signal.addEventListener('abort', close, { once: true })
  const { clock } = ctx
  const means = { name: 'target', means: MEANS, clock, how, signal } as const
  const endpoint = { ...means, url, authorization: basicOrBearer('', key), secret: key }
  return {
    close,
    begin: (events) =>
      new Sender({
        ...ctx,
        ...events,
        localAddress: socket.localAddress ?? '',
        allows: mediaAllows(how, socket.remoteAddress ?? ''),
        async openSession(offer) {
          const opened = await openRemoteSession(endpoint, socket, offer)
          if (opened.ok) return ok(opened.value)
          const { kind, ...said } = opened.error
          return err(kind === 'refused' ? { kind, ...said, isInUse: false } : { kind, ...said })
        },
      }),
  }
}
