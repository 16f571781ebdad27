import { err, ok, type Result } from '../../base/result.ts'

/** Handshakes of version 5 in live mode, draft-sharabayko-srt-01 sections 3.2.1 and 4.3.1: the side that is called. */

export const FIXED_BYTES = 48
export const HANDSHAKE_VERSION = 5
/** In the extension field of an induction; callers of version 5 look for it. */
export const MAGIC = 0x4a17
const RENDEZVOUS = 0
export const INDUCTION = 1
export const CONCLUSION = 0xffff_ffff
/** 1.5.0 */
export const SRT_VERSION = 0x1_05_00
/** Callers before 1.3.0 have no handshake of version 5. */
const OLDEST = 0x1_03_00
const MTU = 1500
/** The largest datagram that fits: the heads of IPv4 and UDP have 28 bytes. */
export const DATAGRAM_MAX_BYTES = MTU - 28

/** The most packets that may be in flight. */
export const FLOW_WINDOW = 8192

export const HANDSHAKE_EXTENSION = {
  request: 1,
  response: 2,
  keyRequest: 3,
  keyResponse: 4,
  streamId: 5,
  congestion: 6,
  filter: 7,
  group: 8,
}
/** In the extension field of a conclusion. */
export const HAS = { request: 1, key: 2, others: 4 } as const

export const CAPABILITY = {
  timedSender: 0x01,
  timedReceiver: 0x02,
  crypt: 0x04,
  dropsTooLate: 0x08,
  periodicLosses: 0x10,
  marksRetransmissions: 0x20,
  streamMode: 0x40,
} as const

/** Why a caller is refused, as it reads it (section 4.3, and those of applications from 1400 on). */
export const REJECT = {
  resource: 1003,
  rogue: 1004,
  version: 1008,
  badSecret: 1010,
  unsecure: 1011,
  messageMode: 1012,
  congestion: 1013,
  filter: 1014,
  group: 1015,
  badRequest: 1400,
  unauthorized: 1401,
  overload: 1402,
  forbidden: 1403,
  badMode: 1405,
  conflict: 1409,
} as const

/** Callers subtract it from what they get: libsrt shows 1401 for 2401, and for 1401 an unknown reason. */
export const APPLICATION_OFFSET = 1000

export type RejectCode = (typeof REJECT)[keyof typeof REJECT]

export interface Rejection {
  readonly code: RejectCode
  /** For the log: the caller gets the code alone. */
  readonly text: string
}

export const TOO_OLD: Rejection = {
  code: REJECT.version,
  text: 'The version of SRT is too old: handshakes of version 5, of SRT 1.3.0 and later, are supported',
}
export const NO_RENDEZVOUS: Rejection = {
  code: REJECT.rogue,
  text: 'Rendezvous mode is not supported; connect in caller mode',
}

const STREAM_ID_MAX_BYTES = 512
/** A salt of 16 bytes, two wrapped keys of 32 bytes, and their head: a longer key message is none of ours. */
const KEY_MESSAGE_MAX_BYTES = 104

interface Fixed {
  readonly version: number
  readonly sequence: number
  readonly socketId: number
  readonly cookie: number
}

/** `rendezvous`: of a peer that calls and is called at once. `foreign`: of another version, or of no known type. */
export type Handshake =
  | ({ readonly kind: 'induction' } & Fixed)
  | ({ readonly kind: 'rendezvous' } & Fixed)
  | ({ readonly kind: 'conclusion'; readonly extensions: Buffer } & Fixed)
  | ({ readonly kind: 'foreign' } & Fixed)

/** Null: too short. */
export function readHandshake(body: Buffer): Handshake | null {
  if (body.length < FIXED_BYTES) return null
  const type = body.readUInt32BE(20)
  const fixed = {
    version: body.readUInt32BE(0),
    sequence: body.readUInt32BE(8) & 0x7fff_ffff,
    socketId: body.readUInt32BE(24),
    cookie: body.readUInt32BE(28),
  }
  if (type === INDUCTION) return { kind: 'induction', ...fixed }
  if (type === RENDEZVOUS) return { kind: 'rendezvous', ...fixed }
  if (type !== CONCLUSION || fixed.version !== HANDSHAKE_VERSION) return { kind: 'foreign', ...fixed }
  return { kind: 'conclusion', ...fixed, extensions: body.subarray(FIXED_BYTES) }
}

/** What a caller asks for. */
export interface CallerRequest {
  /** As on the wire, without padding. */
  readonly streamId: string
  /** How long it wants packets to be waited for at least. */
  readonly latencyMs: number
  readonly flags: number
  /** The message with its keys; null: not encrypted. */
  readonly keyMessage: Buffer | null
}

/** Reads the extensions of a conclusion. */
export function readExtensions(bytes: Buffer): Result<CallerRequest, Rejection> {
  const found = splitExtensions(bytes)
  if (found === null) return refused('rogue', 'The handshake is malformed')
  const request = found.get(HANDSHAKE_EXTENSION.request)
  if (request === undefined || request.length < 12) return refused('rogue', 'The handshake has no SRT extension')
  return unsupported(found, request) ?? readRequest(found, request)
}

/** Their bodies by type, the first of each; null: one runs past the end. */
export function splitExtensions(bytes: Buffer): Map<number, Buffer> | null {
  const found = new Map<number, Buffer>()
  for (let at = 0; at + 4 <= bytes.length; ) {
    const [type, end] = [bytes.readUInt16BE(at), at + 4 + bytes.readUInt16BE(at + 2) * 4]
    if (end > bytes.length) return null
    if (!found.has(type)) found.set(type, bytes.subarray(at + 4, end))
    at = end
  }
  return found
}

const refused = (code: keyof typeof REJECT, text: string): Result<never, Rejection> => err({ code: REJECT[code], text })

function unsupported(found: ReadonlyMap<number, Buffer>, request: Buffer): Result<never, Rejection> | null {
  const congestion = wordsToText(found.get(HANDSHAKE_EXTENSION.congestion))
  if (request.readUInt32BE(0) < OLDEST) return err(TOO_OLD)
  if (found.has(HANDSHAKE_EXTENSION.group)) return refused('group', 'Bonding of several connections is not supported')
  if (found.has(HANDSHAKE_EXTENSION.filter)) return refused('filter', 'Packet filters such as FEC are not supported')
  if (congestion !== '' && congestion !== 'live') return refused('congestion', 'Only live mode is supported')
  const isStream = (request.readUInt32BE(4) & CAPABILITY.streamMode) !== 0
  return isStream ? refused('messageMode', 'Buffer mode, for files, is not supported; send in live mode') : null
}

function readRequest(found: ReadonlyMap<number, Buffer>, request: Buffer): Result<CallerRequest, Rejection> {
  const [streamId, keyMessage] = [
    found.get(HANDSHAKE_EXTENSION.streamId),
    found.get(HANDSHAKE_EXTENSION.keyRequest) ?? null,
  ]
  if (streamId !== undefined && streamId.length > STREAM_ID_MAX_BYTES) {
    return refused('badRequest', `The stream id is longer than ${STREAM_ID_MAX_BYTES} bytes`)
  }
  if (keyMessage !== null && keyMessage.length > KEY_MESSAGE_MAX_BYTES)
    return refused('rogue', 'The key message is malformed')
  return ok({
    streamId: wordsToText(streamId),
    latencyMs: request.readUInt16BE(10),
    flags: request.readUInt32BE(4),
    keyMessage: keyMessage && Buffer.from(keyMessage),
  })
}

/** Text comes in words whose bytes are in reverse, padded with zeros (section 3.2.1.3). */
function wordsToText(words: Buffer | undefined): string {
  return words === undefined
    ? ''
    : Buffer.from(words)
        .swap32()
        .toString('utf8')
        .replace(/(?<!\0)\0+$/, '')
}

export interface FixedFields {
  readonly version?: number
  readonly type: number
  readonly sequence: number
  readonly encryption?: number
  readonly extensionField?: number
  readonly socketId?: number
  readonly cookie?: number
}

export function writeFixed({
  version = HANDSHAKE_VERSION,
  type,
  sequence,
  encryption = 0,
  extensionField = 0,
  socketId = 0,
  cookie = 0,
}: FixedFields): Buffer {
  const body = Buffer.alloc(FIXED_BYTES)
  body.writeUInt32BE(version, 0)
  body.writeUInt16BE(encryption, 4)
  body.writeUInt16BE(extensionField, 6)
  body.writeUInt32BE(sequence, 8)
  body.writeUInt32BE(MTU, 12)
  body.writeUInt32BE(FLOW_WINDOW, 16)
  body.writeUInt32BE(type, 20)
  body.writeUInt32BE(socketId, 24)
  body.writeUInt32BE(cookie, 28)
  return body
}

/** As long as the question, as each answer to an address that is not proved: the port cannot be used to amplify. */
export const answerInduction = ({ sequence }: Fixed, cookie: number): Buffer =>
  writeFixed({ type: INDUCTION, sequence, extensionField: MAGIC, cookie })

export const answerRefused = ({ sequence }: Pick<Fixed, 'sequence'>, code: RejectCode): Buffer =>
  writeFixed({ type: code < REJECT.badRequest ? code : code + APPLICATION_OFFSET, sequence })

export interface Agreement {
  readonly sequence: number
  /** Of this side. */
  readonly socketId: number
  readonly latencyMs: number
  readonly request: CallerRequest
  /** Bits of the key; null: not encrypted. */
  readonly keyBits: number | null
}

export function answerAdmitted({ sequence, socketId, latencyMs, request, keyBits }: Agreement): Buffer {
  const response = Buffer.alloc(12)
  const { timedSender, timedReceiver, dropsTooLate, periodicLosses, marksRetransmissions, crypt } = CAPABILITY
  const flags = timedSender | timedReceiver | dropsTooLate | periodicLosses | marksRetransmissions | crypt
  response.writeUInt32BE(SRT_VERSION, 0)
  response.writeUInt32BE(flags, 4)
  response.writeUInt16BE(latencyMs, 8)
  const { keyMessage } = request
  const keys = keyMessage === null ? [] : [extension(HANDSHAKE_EXTENSION.keyResponse, keyMessage)]
  const extensionField = HAS.request | (keyMessage === null ? 0 : HAS.key)
  const encryption = keyBits === null ? 0 : keyBits / 64
  const fixed = writeFixed({ type: CONCLUSION, sequence, socketId, encryption, extensionField })
  return Buffer.concat([fixed, extension(HANDSHAKE_EXTENSION.response, response), ...keys])
}

export function extension(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(body.length / 4, 2)
  return Buffer.concat([head, body])
}
