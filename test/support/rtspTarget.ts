import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export interface RtspTargetOptions {
  readonly login?: {
    readonly user: string
    readonly password: string
    readonly scheme: 'Basic' | 'Digest'
    /** Of Digest; default MD5. */
    readonly algorithm?: 'MD5' | 'SHA-256'
    readonly qop?: 'auth'
  }
  /** Answers a request itself, where CSEQ is a place for its number. Undefined: the server answers. */
  readonly answer?: (method: string, times: number) => string | undefined
}

interface Request {
  readonly method: string
  readonly uri: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

const REALM = 'studio "one"'
const NONCE = '5a1f'

/** An RTSP server that takes what is published to it, over one connection, and answers 400 to what a standard does not allow. */
export class RtspTarget {
  readonly #options: RtspTargetOptions
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly requests: Request[] = []
  /** By channel. */
  readonly packets = new Map<number, Buffer[]>()
  sdp = ''
  isRecording = false

  private constructor(options: RtspTargetOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#connected(socket))
  }

  static async start(options: RtspTargetOptions = {}): Promise<RtspTarget> {
    const target = new RtspTarget(options)
    target.#server.listen(0, '127.0.0.1')
    await once(target.#server, 'listening')
    return target
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get methods(): string[] {
    return this.requests.map(({ method }) => method)
  }

  get connections(): number {
    return this.#sockets.size
  }

  pause(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #connected(socket: Socket): void {
    let rest: Buffer = Buffer.alloc(0)
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.isRecording = false
    })
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk])
      for (let taken = this.#take(socket, rest); taken > 0; taken = this.#take(socket, rest))
        rest = rest.subarray(taken)
    })
  }

  /** Returns how many bytes it took. */
  #take(socket: Socket, bytes: Buffer): number {
    if (bytes[0] === 0x24) return this.#packet(bytes)
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) return 0
    const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    )
    const whole = end + 4 + Number(headers.get('content-length') ?? 0)
    if (bytes.length < whole) return 0
    const [method = '', uri = ''] = first.split(' ')
    const request = { method, uri, headers, body: bytes.toString('utf8', end + 4, whole) }
    this.requests.push(request)
    const given = this.#options.answer?.(method, this.methods.filter((one) => one === method).length)
    const [status, ...more] = given === undefined ? this.#answer(request) : [given]
    const answer = given ?? [`RTSP/1.0 ${status}`, 'CSeq: CSEQ', ...more, '', ''].join('\r\n')
    socket.write(answer.replace('CSEQ', headers.get('cseq') ?? ''))
    if (method === 'TEARDOWN') socket.end()
    return whole
  }

  #packet(bytes: Buffer): number {
    if (bytes.length < 4 || bytes.length < 4 + bytes.readUInt16BE(2)) return 0
    const whole = 4 + bytes.readUInt16BE(2)
    const channel = bytes.readUInt8(1)
    this.packets.set(channel, [...(this.packets.get(channel) ?? []), bytes.subarray(4, whole)])
    return whole
  }

  #answer(request: Request): string[] {
    const { method, uri, headers, body } = request
    if (method === 'OPTIONS') return ['200 OK', 'Public: OPTIONS, ANNOUNCE, SETUP, RECORD, TEARDOWN']
    if (!this.#admits(request)) return ['401 Unauthorized', ...this.#challenges()]
    const hasSession = headers.get('session') === '77'
    switch (method) {
      case 'ANNOUNCE':
        this.sdp = body
        return [headers.get('content-type') === 'application/sdp' ? '200 OK' : '415 Unsupported Media Type']
      case 'SETUP': {
        const isTrack = this.sdp.match(/a=control:\S+/g)?.some((line) => uri.endsWith(`/${line.slice(10)}`)) === true
        const [, first] =
          /^RTP\/AVP\/TCP;unicast;interleaved=(\d)-\d;mode=record$/.exec(headers.get('transport') ?? '') ?? []
        if (!isTrack || first === undefined || (first !== '0' && !hasSession)) return ['400 Bad Request']
        // It may choose others than it was asked for.
        const channels = `${Number(first) + 4}-${Number(first) + 5}`
        return ['200 OK', `Transport: RTP/AVP/TCP;unicast;interleaved=${channels}`, 'Session: 77;timeout=8']
      }
      case 'RECORD':
        this.isRecording = hasSession
        return [hasSession ? '200 OK' : '454 Session Not Found']
      default:
        return [method === 'TEARDOWN' && hasSession ? '200 OK' : '405 Method Not Allowed']
    }
  }

  #challenges(): string[] {
    const { login } = this.#options
    const realm = `realm="${REALM.replaceAll('"', String.raw`\"`)}"`
    if (login?.scheme !== 'Digest') return [`WWW-Authenticate: Basic ${realm}`]
    const more = [login.algorithm && `algorithm=${login.algorithm}`, login.qop && `qop="auth,auth-int"`]
    const fields = ['Digest ' + realm, `nonce="${NONCE}"`, ...more.filter((one) => one !== undefined)]
    return [
      'WWW-Authenticate: Digest realm="x", nonce="y", algorithm=MD5-sess',
      `WWW-Authenticate: ${fields.join(', ')}`,
    ]
  }

  #admits({ method, uri, headers }: Request): boolean {
    const { login } = this.#options
    const given = headers.get('authorization') ?? ''
    if (login === undefined) return true
    const { user, password, scheme, algorithm = 'MD5', qop } = login
    if (scheme === 'Basic') return given === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const hash = (text: string): string =>
      createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
        .update(text)
        .digest('hex')
    const field = (name: string): string => new RegExp(` ${name}="?([^",]*)`).exec(given)?.[1] ?? ''
    const used = qop === undefined ? NONCE : `${NONCE}:${field('nc')}:${field('cnonce')}:${qop}`
    const expected = hash(`${hash(`${user}:${REALM}:${password}`)}:${used}:${hash(`${method}:${uri}`)}`)
    return field('uri') === uri && field('response') === expected
  }
}
