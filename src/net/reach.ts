import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { SecureContext } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { err, ok } from '../base/result.ts'
import type { Reached, ReachSource } from '../core/channels/runs/transcoder.ts'
import { dialledAt } from '../core/channels/dialled.ts'
import { isPublicAddress } from '../core/validation/publicAddress.ts'
import { hostOf } from '../core/webhooks/target.ts'
import { startDeadline } from './deadline.ts'
import { addressesOf, dial, type Dialling } from './dial.ts'
import { egressFailureFrom } from './failures.ts'
import { publicNames, type ResolveName } from './resolve.ts'

export interface SourceDialling {
  readonly clock: Clock
  readonly log: Logger
  /** Lifts every check, for closed networks and tests: ffmpeg gets sources as they are written. */
  readonly allowPrivate: boolean
  readonly resolver?: ResolveName
  /** Replaces the address check, for tests. */
  readonly allowAddress?: (address: string) => boolean
  /** Certificate authorities in place of those that Node trusts, for tests. */
  readonly trust?: SecureContext
}

const RESOLVE_MS = 5000

/**
 * Resolves the host of a source each time it is dialled, checks every address with the guard of the webhooks, and
 * makes ffmpeg dial a checked address. A later answer of the name server has no effect.
 */
export function reachSources({ clock, log, allowPrivate, ...rest }: SourceDialling): ReachSource {
  if (allowPrivate) return async (url) => ok({ url, options: {}, close: () => undefined })
  const how: Dialling = {
    clock,
    resolve: rest.resolver ?? publicNames(),
    allows: rest.allowAddress ?? isPublicAddress,
    timeoutMs: RESOLVE_MS,
    trust: rest.trust,
    protocols: [],
  }
  return async (source, attempt, signal) => {
    const url = new URL(source)
    const deadline = startDeadline(clock, RESOLVE_MS, signal)
    try {
      const addresses = await addressesOf(hostOf(url), how, deadline.signal)
      if (url.protocol === 'rtmps:') return ok(await throughTls(source, url, how, log))
      const address = addresses[attempt % addresses.length] ?? ''
      return ok({ ...dialledAt(source, address), close: () => undefined })
    } catch (error) {
      const { code, message } = egressFailureFrom('resolve', error)
      return err({ isForbidden: code === 'target_not_allowed', message: `the source cannot be dialled: ${message}` })
    } finally {
      deadline.cancel()
    }
  }
}

/**
 * When ffmpeg dials an address over TLS, it sends no host name, which many servers require, and verifies no
 * certificate. So Sluice makes the TLS connection: ffmpeg dials a one-time port on loopback, and Sluice forwards its
 * bytes to the source.
 */
async function throughTls(source: string, url: URL, how: Dialling, log: Logger): Promise<Reached> {
  const stopping = new AbortController()
  const proxy = createServer({ pauseOnConnect: true }, (local) => {
    proxy.close()
    forward(local, new URL(`https://${url.host}/`), how, stopping.signal).catch((error: unknown) => {
      log.info(
        { problem: egressFailureFrom('connect', error).message },
        'a source cannot be reached, or has disconnected',
      )
    })
  })
  const port = await listenOn(proxy)
  return {
    ...dialledAt(source, `127.0.0.1#${port}`),
    close: () => {
      stopping.abort()
      proxy.close()
    },
  }
}

async function listenOn(proxy: Server): Promise<number> {
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return (proxy.address() as AddressInfo).port
}

/** Forwards until either side ends. Both sockets are destroyed then. */
async function forward(local: Socket, url: URL, how: Dialling, signal: AbortSignal): Promise<void> {
  local.on('error', () => undefined)
  try {
    const remote = await dial(url, how, signal, () => undefined)
    try {
      local.resume()
      await Promise.all([pipeline(local, remote, { signal }), pipeline(remote, local, { signal })])
    } finally {
      remote.destroy()
    }
  } finally {
    local.destroy()
  }
}
