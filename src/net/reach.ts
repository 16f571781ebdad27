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
  /** Lifts every check, for closed networks and tests: ffmpeg is given sources as they are written. */
  readonly allowPrivate: boolean
  readonly resolver?: ResolveName
  /** Replaces the judgement of addresses, for tests. */
  readonly allowAddress?: (address: string) => boolean
  /** Certificate authorities in place of those that Node trusts, for tests. */
  readonly trust?: SecureContext
}

const RESOLVE_MS = 5000

/**
 * Looks up the hosts of sources each time they are dialled, judges every address with the guard of the webhooks, and has
 * ffmpeg dial the address that was judged: what a name server answers later reaches nobody.
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
 * ffmpeg names no host in a TLS handshake to an address, which many servers refuse, and checks no certificate. So we shake
 * hands for it: it dials a door of this machine that opens once, and what goes through is carried to the source.
 */
async function throughTls(source: string, url: URL, how: Dialling, log: Logger): Promise<Reached> {
  const stopping = new AbortController()
  const door = createServer({ pauseOnConnect: true }, (local) => {
    door.close()
    carry(local, new URL(`https://${url.host}/`), how, stopping.signal).catch((error: unknown) => {
      log.info({ problem: egressFailureFrom('connect', error).message }, 'a source is not there, or is gone')
    })
  })
  const port = await listenOn(door)
  return {
    ...dialledAt(source, `127.0.0.1#${port}`),
    close: () => {
      stopping.abort()
      door.close()
    },
  }
}

async function listenOn(door: Server): Promise<number> {
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  return (door.address() as AddressInfo).port
}

/** Until either side is done. Both sockets are gone then. */
async function carry(local: Socket, url: URL, how: Dialling, signal: AbortSignal): Promise<void> {
  local.on('error', () => undefined)
  try {
    const far = await dial(url, how, signal, () => undefined)
    try {
      local.resume()
      await Promise.all([pipeline(local, far, { signal }), pipeline(far, local, { signal })])
    } finally {
      far.destroy()
    }
  } finally {
    local.destroy()
  }
}
