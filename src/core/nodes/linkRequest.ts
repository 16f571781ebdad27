import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'

/** A node asks another one to lend it a stream: the node of the feed, or one of its own region that has it from there. */
export interface LinkRequest {
  /** The ids of both nodes, new at each start. */
  readonly from: string
  readonly to: string
  readonly accountId: string
  readonly streamName: string
  /** The node of the feed. */
  readonly feedAt: string
  /** True: the node of the feed is to lend it itself. */
  readonly isDirect: boolean
  /** It knows that viewers of these feeds need tokens. Otherwise it gets only feeds that are open. */
  readonly isSecured: boolean
  /** When it was asked, by the clock of the database, epoch milliseconds. */
  readonly atMs: number
  /** Random; used once. */
  readonly nonce: string
}

/** Another node has the stream, and is nearer. */
export interface LinkReferral {
  readonly node: string
  readonly url: string
}

/** What a node answers that lends a stream. */
export interface LinkAnswer {
  /** Random: with the nonce of the request it makes the keys new, whatever is asked twice. */
  readonly salt: string
  /** 32 bits. */
  readonly ssrc: number
  /** Where its media process listens. */
  readonly addresses: readonly { readonly address: string; readonly port: number }[]
}

/** A request or an answer with the code of its sender. */
export type Signed<T> = T & { readonly code: string }

/** Both sides must mean the same. Raise it when what goes over a link changes. */
export const LINK_VERSION = 3
/**
 * How long what one node signs for another is good. It is under way for a moment, but when the clock of the database is set, nodes
 * that have read it and nodes that have not differ for some seconds.
 */
export const SIGNED_FOR_NODE_MS = 120_000
const MAX_TEXT = 300
const MAX_ADDRESSES = 16

/** What the code of a request is of. */
export const linkRequestText = (request: LinkRequest): string => {
  const { from, to, accountId, streamName, feedAt, isDirect, isSecured, atMs, nonce } = request
  const about = [accountId, streamName, feedAt, isDirect, isSecured]
  return JSON.stringify(['link', LINK_VERSION, from, to, ...about, atMs, nonce])
}

/** What the code of an answer is of. @param requestCode so that it answers this request and no other */
export const linkAnswerText = (requestCode: string, { salt, ssrc, addresses }: LinkAnswer): string =>
  JSON.stringify(['link answer', requestCode, salt, ssrc, addresses.map(({ address, port }) => [address, port])])

/** The same of a referral. */
export const linkReferralText = (requestCode: string, { node, url }: LinkReferral): string =>
  JSON.stringify(['link referral', requestCode, node, url])

/** What the key of a link is derived for. */
export const linkKeyText = (request: LinkRequest, { salt, ssrc }: Pick<LinkAnswer, 'salt' | 'ssrc'>): string =>
  JSON.stringify([linkRequestText(request), salt, ssrc])

/** The error says what is wrong. */
export function parseLinkRequest(body: unknown): Result<Signed<LinkRequest>, string> {
  const { version, from, to, accountId, streamName, feedAt, isDirect, isSecured, atMs, nonce, code } = fieldsOf(body)
  if (version !== LINK_VERSION) return err(`version must be ${LINK_VERSION}`)
  const texts = { from, to, accountId, streamName, feedAt, nonce, code }
  const wrong = Object.entries(texts).find(([, value]) => !isText(value))
  if (wrong !== undefined) return err(`${wrong[0]} must be text`)
  if (!Number.isSafeInteger(atMs)) return err('atMs must be a time')
  if (typeof isDirect !== 'boolean') return err('isDirect must be true or false')
  if (typeof isSecured !== 'boolean') return err('isSecured must be true or false')
  return ok({ ...(texts as Record<keyof typeof texts, string>), isDirect, isSecured, atMs: atMs as number })
}

/** Null: it is no answer. */
export function parseLinkAnswer(body: unknown): Signed<LinkAnswer> | null {
  const { salt, ssrc, addresses, code } = fieldsOf(body)
  if (!isText(salt) || !isText(code) || !isBelow(ssrc, 2 ** 32) || !Array.isArray(addresses)) return null
  const all = addresses.slice(0, MAX_ADDRESSES).flatMap((one: unknown) => {
    const { address, port } = fieldsOf(one)
    return isText(address) && isBelow(port, 65_536) ? [{ address, port }] : []
  })
  return { salt, ssrc, addresses: all, code }
}

/** Null: it is none. */
export function parseLinkReferral(body: unknown): Signed<LinkReferral> | null {
  const { node, url, code } = fieldsOf(body)
  return isText(node) && isText(url) && isText(code) ? { node, url, code } : null
}

const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {})

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= MAX_TEXT

/** A whole number from 1 on. */
const isBelow = (value: unknown, limit: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value < limit
