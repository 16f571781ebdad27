import { withoutSource } from '../../base/withoutSource.ts'

/** One answer of a server (RFC 2326 section 7). */
export interface RtspReply {
  readonly status: number
  readonly reason: string
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Media between messages begins with it (RFC 2326 section 10.12). */
const DOLLAR = 0x24
const DOLLAR_BYTES = 4
const [CR, LF] = [0x0d, 0x0a]
/** Servers send ten. */
const HEADERS_MAX = 64
/** A message costs as much as this number of media packets. */
const MESSAGE_COST = 100
/** A packet of RTP has 12 bytes at least. */
const MEDIA_MIN_BYTES = 8
const HEAD_MAX_BYTES = 16 * 1024
const BODY_MAX_BYTES = 64 * 1024

/** The bytes are not RTSP. */
const NO_RTSP = 'The source does not speak RTSP'

/**
 * Reads what an RTSP server sends, and writes it again for ffmpeg: only whole media packets, and answers in one form. ffmpeg
 * would follow a redirect to any address, so it must not see one; what both read alike, it cannot see differently.
 * Requests of the server are left out.
 */
export class RtspReplies {
  /** Returns whether the client gets the answer. */
  readonly #judge: (reply: RtspReply) => boolean
  readonly #media: (packet: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)
  /** What has come after the rest. It is looked at when there is enough, however small the parts are. */
  #waiting: Buffer[] = []
  #missing = 0
  /** What the latest `push` has taken, in packets of media. */
  cost = 0

  /** @param media called with each packet between messages, with its four bytes in front */
  constructor(judge: (reply: RtspReply) => boolean, media: (packet: Buffer) => void = () => undefined) {
    this.#judge = judge
    this.#media = media
  }

  /** Returns what the client gets. A text: why the connection cannot go on. */
  push(chunk: Buffer): Buffer[] | string {
    this.cost = 0
    this.#waiting.push(chunk)
    this.#missing -= chunk.length
    if (this.#missing > 0) return []
    const isAlone = this.#rest.length === 0 && this.#waiting.length === 1
    this.#rest = isAlone ? chunk : Buffer.concat([this.#rest, ...this.#waiting])
    this.#waiting = []
    const out: Buffer[] = []
    for (;;) {
      this.#take(emptyLines(this.#rest))
      if (this.#rest.length === 0) break
      const taken = this.#rest[0] === DOLLAR ? this.#takeMedia() : this.#takeMessage()
      if (typeof taken === 'string') return taken
      if (taken === null) break
      if (taken.length > 0) out.push(taken)
    }
    return out
  }

  /** Null: it is not whole yet. */
  #takeMedia(): Buffer | null {
    if (!this.#has(DOLLAR_BYTES)) return null
    const length = this.#rest.readUInt16BE(2)
    if (!this.#has(DOLLAR_BYTES + length)) return null
    const packet = this.#take(DOLLAR_BYTES + length)
    this.cost += 1
    this.#media(packet)
    // ffmpeg reads the payload of a shorter packet as a message.
    return length < MEDIA_MIN_BYTES ? Buffer.alloc(0) : packet
  }

  #takeMessage(): Buffer | string | null {
    const headEnd = endOfHead(this.#rest)
    if (headEnd === 0) return this.#rest.length > HEAD_MAX_BYTES ? NO_RTSP : null
    const [first = '', ...lines] = this.#rest.toString('latin1', 0, headEnd).trim().split(/\r?\n/)
    if (lines.length > HEADERS_MAX) return NO_RTSP
    const headers = headersOf(lines)
    const length = Number(headers.get('content-length') ?? 0)
    if (!Number.isInteger(length) || length < 0 || length > BODY_MAX_BYTES) return NO_RTSP
    if (!this.#has(headEnd + length)) return null
    const body = this.#take(headEnd + length).subarray(headEnd)
    this.cost += MESSAGE_COST
    const answer = /^RTSP\/\d\.\d (\d{3})(?: (.*))?$/.exec(first)
    if (answer === null) return isRequest(first) ? Buffer.alloc(0) : NO_RTSP
    const reply = { status: Number(answer[1]), reason: plain(answer[2] ?? ''), headers, body }
    return this.#judge(reply) ? written(reply) : Buffer.alloc(0)
  }

  #has(bytes: number): boolean {
    this.#missing = bytes - this.#rest.length
    return this.#missing <= 0
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(bytes)
    return taken
  }
}

/** How many bytes of empty lines come first. */
function emptyLines(bytes: Buffer): number {
  let at = 0
  while (bytes[at] === CR || bytes[at] === LF) at += 1
  return at
}

/** Where the head ends, behind its empty line; 0: it does not yet. Looks at the head alone, because many may follow. */
function endOfHead(bytes: Buffer): number {
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2
    if (bytes[at - 1] === CR && bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3
  }
  return 0
}

const plain = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '').trim()

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value = ''] = /^([A-Za-z][A-Za-z0-9-]*) *:(.*)$/.exec(line) ?? []
    if (name === undefined) continue
    const key = name.toLowerCase()
    // A server may offer several ways to log in.
    headers.set(key, [headers.get(key), plain(value)].filter((one) => one !== undefined).join('\n'))
  }
  return headers
}

const isRequest = (line: string): boolean => /^[A-Z_]+ \S+ RTSP\/\d\.\d$/.test(line)

function written({ status, reason, headers, body }: RtspReply): Buffer {
  const lines = [...headers].flatMap(([name, values]) =>
    name === 'content-length' || name === 'location' ? [] : values.split('\n').map((value) => `${name}: ${value}`),
  )
  if (body.length > 0) lines.push(`content-length: ${body.length}`)
  return Buffer.concat([Buffer.from([`RTSP/1.0 ${status} ${reason}`, ...lines, '', ''].join('\r\n'), 'latin1'), body])
}

const REASON_MAX = 200

/** What a server answers, for people, without the address and its login, which it may repeat. */
export const spoken = (status: number, reason: string, url: URL): string =>
  `${status} ${withoutSource(reason, url.href).slice(0, REASON_MAX)}`.trim()
