import type { Client } from 'acme-client'
import { untilAborted } from '../../base/clock.ts'
import type { PemPair } from '../certificate.ts'

export interface OrderOptions {
  readonly directoryUrl: string
  /** Empty: the usual authorities are enough for the directory. */
  readonly caFile: string
  readonly domains: readonly string[]
  /** Empty: none. */
  readonly email: string
  /** PEM. */
  readonly accountKey: string
  /** Stores what the authority will read over HTTP, before it is told to. */
  readonly publish: (token: string, keyAuthorization: string) => Promise<void>
  /** Ends every request. */
  readonly signal: AbortSignal
}

const LOOKS_MAX = 20
const LOOK_MIN_MS = 250
const LOOK_MAX_MS = 5000

/** The library is loaded when a certificate is due: few installations need it, and not often. */
const library = async (): Promise<typeof import('acme-client')> => (await import('acme-client')).default

/** PEM, P-256: what every authority takes. */
export const newPrivateKey = async (): Promise<string> => String(await (await library()).crypto.createPrivateEcdsaKey())

/**
 * Gets a certificate (RFC 8555), with a new key, after checks over HTTP (http-01). Does not try again. The authority finds
 * the account by its key, and makes it if it has none.
 * @throws when the authority refuses, or cannot be reached
 */
export async function orderCertificate(options: OrderOptions): Promise<PemPair> {
  const { acmeTransport } = await import('../../net/acmeTransport.ts')
  const send = acmeTransport(options.caFile, options.signal)
  // The library pauses between its questions for seconds, and cannot be told to stop.
  return untilAborted(order(await clientOf(options, send), options), options.signal)
}

async function order(client: Client, options: OrderOptions): Promise<PemPair> {
  const contact = options.email === '' ? [] : [`mailto:${options.email}`]
  await client.createAccount({ termsOfServiceAgreed: true, contact })
  const placed = await client.createOrder({ identifiers: options.domains.map((value) => ({ type: 'dns', value })) })
  for (const authorization of await client.getAuthorizations(placed)) {
    if (authorization.status !== 'valid') await prove(client, authorization, options)
  }
  const { crypto } = await library()
  const key = await newPrivateKey()
  const [, request] = await crypto.createCsr({ altNames: [...options.domains] }, key)
  return { cert: await client.getCertificate(await client.finalizeOrder(placed, request)), key }
}

/** One order at a time: the library has one transport for all of its clients. */
async function clientOf({ directoryUrl, accountKey }: OrderOptions, send: object): Promise<Client> {
  const { Client, axios } = await library()
  Object.assign(axios.defaults, { adapter: send })
  return new Client({
    directoryUrl,
    accountKey,
    backoffAttempts: LOOKS_MAX,
    backoffMin: LOOK_MIN_MS,
    backoffMax: LOOK_MAX_MS,
  })
}

type Authorization = Awaited<ReturnType<Client['getAuthorizations']>>[number]

async function prove(client: Client, { identifier, challenges }: Authorization, options: OrderOptions): Promise<void> {
  const challenge = challenges.find(({ type }) => type === 'http-01')
  if (!challenge) throw new Error(`the authority offers no http-01 challenge for ${identifier.value}`)
  await options.publish(challenge.token, await client.getChallengeKeyAuthorization(challenge))
  await client.completeChallenge(challenge)
  await client.waitForValidStatus(challenge)
}
