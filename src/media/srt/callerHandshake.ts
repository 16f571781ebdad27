import {
  APPLICATION_OFFSET,
  CONCLUSION,
  HANDSHAKE_EXTENSION,
  extension,
  FIXED_BYTES,
  CAPABILITY,
  FLOW_WINDOW,
  HAS,
  INDUCTION,
  MAGIC,
  REJECT,
  splitExtensions,
  SRT_VERSION,
  HANDSHAKE_VERSION,
  writeFixed,
} from './handshake.ts'

/** Handshakes of version 5: the side that calls (draft-sharabayko-srt-01 section 4.3.1.1). */

/** Of this side. */
interface CallerIds {
  readonly sequence: number
  readonly socketId: number
}

/** The version is 4, so that each listener reads it, and the extension field says: datagrams. */
export const writeInduction = (ids: CallerIds): Buffer =>
  writeFixed({ ...ids, version: 4, type: INDUCTION, extensionField: 2 })

export interface CallFields extends CallerIds {
  readonly cookie: number
  /** Empty: none. */
  readonly streamId: string
  /** The least that both sides wait for a lost packet. */
  readonly latencyMs: number
  /** With the length of the key; null: not encrypted. */
  readonly keys: { readonly message: Buffer; readonly keyBytes: number } | null
}

export function writeConclusion({ streamId, latencyMs, keys, ...ids }: CallFields): Buffer {
  const request = Buffer.alloc(12)
  const { timedSender, timedReceiver, dropsTooLate, periodicLosses, marksRetransmissions, crypt } = CAPABILITY
  request.writeUInt32BE(SRT_VERSION, 0)
  request.writeUInt32BE(timedSender | timedReceiver | crypt | dropsTooLate | periodicLosses | marksRetransmissions, 4)
  request.writeUInt16BE(latencyMs, 8)
  request.writeUInt16BE(latencyMs, 10)
  const extensionField = HAS.request | (keys === null ? 0 : HAS.key) | (streamId === '' ? 0 : HAS.others)
  const encryption = keys === null ? 0 : keys.keyBytes / 8
  return Buffer.concat([
    writeFixed({ ...ids, type: CONCLUSION, encryption, extensionField }),
    extension(HANDSHAKE_EXTENSION.request, request),
    ...(keys === null ? [] : [extension(HANDSHAKE_EXTENSION.keyRequest, keys.message)]),
    ...(streamId === '' ? [] : [extension(HANDSHAKE_EXTENSION.streamId, textToWords(streamId))]),
  ])
}

/** Words whose bytes are in reverse, padded with zeros (section 3.2.1.3). */
function textToWords(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]).swap32()
}

/** What a listener answers. */
export type CallAnswer =
  | { readonly kind: 'cookie'; readonly cookie: number }
  | ({ readonly kind: 'agreed' } & CallAgreement)
  /** `code`: of `REJECT`, or another one. */
  | { readonly kind: 'refused'; readonly code: number }

export interface CallAgreement {
  /** Of the listener. */
  readonly socketId: number
  /** The number of its first packet. */
  readonly peerSequence: number
  /** How long the listener waits for a lost packet that we send. */
  readonly sendLatencyMs: number
  /** How long we wait for one that it sends. */
  readonly receiveLatencyMs: number
  /** The most packets that it takes in flight. */
  readonly windowPackets: number
  /** It has opened our keys. */
  readonly hasKeys: boolean
}

/** Null: it is no answer that a caller waits for. */
export function readAnswer(body: Buffer): CallAnswer | null {
  if (body.length < FIXED_BYTES) return null
  const [version, type] = [body.readUInt32BE(0), body.readUInt32BE(20)]
  if (type === CONCLUSION) return readAgreement(body)
  if (type === INDUCTION) {
    // A listener of version 4 has no stream ids and no latency of its own.
    const isNew = version === HANDSHAKE_VERSION && body.readUInt16BE(6) === MAGIC
    return isNew ? { kind: 'cookie', cookie: body.readUInt32BE(28) } : { kind: 'refused', code: REJECT.version }
  }
  if (type < CODE_FIRST || type > CODE_LAST) return null
  return { kind: 'refused', code: type < 2 * APPLICATION_OFFSET ? type : type - APPLICATION_OFFSET }
}

const CODE_FIRST = 1000
const CODE_LAST = 4000
/** A key response with a state in the place of keys: they were not opened. */
const KEY_STATE_BYTES = 4

function readAgreement(body: Buffer): CallAnswer | null {
  const found = splitExtensions(body.subarray(FIXED_BYTES))
  const response = found?.get(HANDSHAKE_EXTENSION.response)
  if (!found || response === undefined || response.length < 12) return { kind: 'refused', code: REJECT.version }
  const windowPackets = Math.min(FLOW_WINDOW, body.readUInt32BE(16))
  return {
    kind: 'agreed',
    socketId: body.readUInt32BE(24),
    peerSequence: body.readUInt32BE(8) & 0x7fff_ffff,
    sendLatencyMs: response.readUInt16BE(8),
    receiveLatencyMs: response.readUInt16BE(10),
    windowPackets,
    hasKeys: (found.get(HANDSHAKE_EXTENSION.keyResponse)?.length ?? 0) > KEY_STATE_BYTES,
  }
}
