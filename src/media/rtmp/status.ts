import { MASK } from '../../core/restream/targets.ts'
import type { AmfObject, AmfValue } from './amf0.ts'

/** What a server says in `onStatus`, or in `_error` (RTMP 1.0 section 7.2). Empty where it says nothing. */
export interface RtmpStatus {
  readonly level: string
  readonly code: string
  readonly description: string
  /** It names another server. */
  readonly isRedirect: boolean
  /** Of a request to connect again. */
  readonly tcUrl: string
}

export function readStatus(info: AmfValue): RtmpStatus {
  const text = (name: string): string => {
    const value = propertyOf(info, name)
    return typeof value === 'string' ? value : ''
  }
  const redirect = propertyOf(info, 'redirect') ?? propertyOf(propertyOf(info, 'ex'), 'redirect') ?? null
  return {
    level: text('level'),
    code: text('code'),
    description: text('description'),
    isRedirect: redirect !== null,
    tcUrl: text('tcUrl'),
  }
}

const propertyOf = (value: AmfValue, name: string): AmfValue =>
  value instanceof Map ? (value as AmfObject).get(name) : undefined

const REASON_MAX = 200
/** A shorter text is no secret, and may be part of any word. */
const SECRET_MIN = 4

/** What another server gave as its reason: for the end of a sentence. @param key see `withoutKey` */
export function reasonOf({ description, code }: RtmpStatus, key: string): string {
  return withoutKey(description, key) || withoutKey(code, key) || 'an error without a reason'
}

/**
 * A text of another server for people, as the end of a sentence. Servers repeat keys in their answers.
 * @param keys each with its query, if it has one
 */
export function withoutKey(text: string, ...keys: readonly string[]): string {
  const secrets = keys.flatMap(spellingsOf).filter(({ length }) => length >= SECRET_MIN)
  const bare = secrets.reduce((left, secret) => left.replaceAll(secret, MASK), text)
  return bare
    .replaceAll(/\p{C}/gu, ' ')
    .slice(0, REASON_MAX)
    .trim()
    .replace(/(?<![\s.])[\s.]+$/, '')
}

function spellingsOf(key: string): string[] {
  const mark = key.includes('?') ? key.indexOf('?') : key.length
  const query = key.slice(mark + 1)
  return [key, encodeURIComponent(key), key.slice(0, mark), query, ...new URLSearchParams(query).values()]
}
