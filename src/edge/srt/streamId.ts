import { percentDecoded } from '../../base/percent.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Destination } from '../ingest/broadcast.ts'
import { streamDestination } from '../ingest/destination.ts'

/** What a caller writes into its stream id. */
export interface StreamIdTarget {
  readonly destination: Destination
  /** `e` is there: a caller without encryption is refused. */
  readonly demandsEncryption: boolean
  /** It was percent-encoded twice, which some addresses are by mistake. */
  readonly isEncodedTwice: boolean
}

/** The caller wants to be sent something. */
export type NotPublishing = 'mode'

const EXAMPLE = 'use STREAM?t=TOKEN as stream id'
/** The syntax of the SRT access control guidelines. */
const STANDARD = '#!::'
/** Types that the guidelines give `t`; another value of it is a token. */
const TYPES = ['stream', 'file', 'auth']

/**
 * Reads the forms of stream ids: `STREAM?t=TOKEN`, `#!::r=STREAM,m=publish,s=TOKEN` and `publish:STREAM:TOKEN`, and with the
 * name `live/KEY` alone in place of stream and token, the ingests of channels. Encoders differ in what they percent-encode on
 * the way from an address.
 */
export function readStreamId(written: string): Result<StreamIdTarget, NotPublishing> {
  const [text, times] = decoded(written)
  const parts = text.startsWith(STANDARD) ? standard(text) : text.startsWith('publish:') ? prefixed(text) : plain(text)
  if (text.startsWith('read:') || parts.mode !== 'publish') return err('mode')
  const { name, query } = parts
  return ok({ destination: destinationOf(name, query), demandsEncryption: query.has('e'), isEncodedTwice: times > 1 })
}

interface Parts {
  readonly name: string
  readonly query: URLSearchParams
  readonly mode: string
}

/** How ids begin that are encoded: with the sign of the guidelines, of which many leave `!` as it is, or a word of MediaMTX. */
const ENCODED_BEGIN = /^(%(25)*23(!|%(25)*21)|(publish|read)%(25)*3a)/i

/** It begins so, or has no query but an encoded one. */
const isEncoded = (text: string): boolean =>
  ENCODED_BEGIN.test(text) || (!/[?=]/.test(text) && /%(25)*3[fd]/i.test(text))

/** Decodes as often as needed, twice at most. Returns how often that was. */
function decoded(written: string): [string, number] {
  let text = written
  let times = 0
  while (times < 2 && isEncoded(text)) {
    text = percentDecoded(text)
    times += 1
  }
  return [text, times]
}

function plain(text: string): Parts {
  const [name = '', ...rest] = text.split('?')
  return { name: percentDecoded(name), query: new URLSearchParams(rest.join('?')), mode: 'publish' }
}

/** As MediaMTX has it: a query, or a user and a password, follow the name. */
function prefixed(text: string): Parts {
  const [, name = '', ...rest] = text.split(':')
  const last = rest.at(-1) ?? ''
  if (last.includes('=')) return { name, query: new URLSearchParams(last), mode: 'publish' }
  return { name, query: new URLSearchParams(last === '' ? {} : { token: last }), mode: 'publish' }
}

/** Pairs with commas between them. No `m` means to publish, because encoders that let people write one rarely do. */
function standard(text: string): Parts {
  const query = new URLSearchParams()
  for (const pair of text.slice(STANDARD.length).split(',')) {
    const at = pair.indexOf('=')
    query.append(at < 0 ? pair : pair.slice(0, at), at < 0 ? '' : pair.slice(at + 1))
  }
  const [name, mode] = [query.get('r') ?? '', query.get('m') ?? 'publish']
  const token = query.get('token') ?? query.get('s') ?? query.get('u')
  if (TYPES.includes(query.get('t') ?? '')) query.delete('t')
  for (const key of ['r', 'm', 's', 'u', 'h']) query.delete(key)
  if (token !== null) query.set('token', token)
  return { name, query, mode }
}

/** In front of the stream key of a channel, as the application of RTMP addresses. */
const KEYED = 'live/'

/** Streams, too, may have names that begin so, but their publishers have tokens. */
function destinationOf(streamName: string, query: URLSearchParams): Destination {
  if (streamName.startsWith(KEYED) && !query.has('t') && !query.has('token'))
    return { kind: 'key', key: streamName.slice(KEYED.length) }
  if (streamName === '') return { kind: 'none', why: `The stream name is missing; ${EXAMPLE}` }
  return streamDestination(streamName, query, 'srt', ['e', ''])
}
