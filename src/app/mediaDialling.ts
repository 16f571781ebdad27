import { networkInterfaces } from 'node:os'
import type { App } from './app.ts'
import { liveAddressList } from '../base/addressList.ts'
import { isLoopback } from '../base/loopback.ts'
import { parseAddress } from '../core/access/address.ts'
import { coded, type Said, say } from '../core/notices.ts'
import type { Transport } from '../core/restream/targets.ts'
import { isPublicAddress } from '../core/validation/publicAddress.ts'
import type { Dialling } from '../net/dial.ts'
import { egressFailureFrom } from '../net/failures.ts'
import type { Stage } from '../net/outcome.ts'
import { publicNames, systemNames } from '../net/resolve.ts'

/** Name, connection and TLS together. */
const DIAL_MS = 5000

/** The ports on which this node takes publishers: media that is sent there, or comes from there, would go in a circle. */
export type OwnPorts = Readonly<Record<Transport, readonly (number | null | undefined)[]>>

export type MediaDialling = (port: number, transport: Transport) => Dialling

/**
 * How Sluice dials servers that media goes to or comes from: public addresses, and those of allowed networks, but not the ports
 * of this server on addresses of this machine.
 */
export function mediaDialling(app: App, ownPorts: OwnPorts): MediaDialling {
  const isAllowedPrivate = liveAddressList(() => app.config.media.allowedNetworks)
  const allows = (text: string, port: number, transport: Transport): boolean => {
    const address = parseAddress(text)
    if (address === null || (ownPorts[transport].includes(port) && isOfThisMachine(address.text))) return false
    return isPublicAddress(text) || isAllowedPrivate(address)
  }
  return (port, transport) => ({
    clock: app.ctx.clock,
    // A private network has names of its own.
    resolve: app.config.media.allowedNetworks.length > 0 ? systemNames : publicNames(),
    allows: (address) => allows(address, port, transport),
    timeoutMs: DIAL_MS,
    trust: undefined,
    protocols: [],
  })
}

const isOfThisMachine = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address) === true)

/** The same host and port under a scheme that `dial` knows: it encrypts https. */
export const dialledUrl = ({ hostname }: URL, port: number, isEncrypted: boolean): URL =>
  new URL(`${isEncrypted ? 'https' : 'http'}://${hostname}:${port}`)

/** Why a dial failed. @param what is dialled */
export function dialProblem(stage: Stage, error: unknown, what: 'source' | 'target'): Said {
  const { code, sentence } = egressFailureFrom(stage, error)
  if (code === 'target_not_allowed') return say(coded(`${what}_address_not_allowed`))
  const said = say(sentence)
  return { ...said, message: said.message.charAt(0).toUpperCase() + said.message.slice(1) }
}
