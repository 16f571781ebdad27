import { createHash } from 'node:crypto'
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type ChildProcess, spawn } from 'node:child_process'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export interface CameraOptions {
  /** Default: any free one. */
  readonly port?: number
  readonly login?: { readonly user: string; readonly password: string; readonly scheme: 'Basic' | 'Digest' }
  /** Default: none. */
  readonly audio?: 'aac' | 'pcmu'
  /** It numbers each audio packet, and does not send each one that this divides. */
  readonly losesAudio?: number
  /** The encoding that the description names for video; default H264. */
  readonly encoding?: string
  /** Answers a request itself. Undefined: the camera answers. */
  readonly answer?: (method: string) => string | undefined
}

const VIDEO = '-f lavfi -i testsrc2=size=320x180:rate=15'
const H264 = '-c:v libx264 -preset ultrafast -tune zerolatency -g 15 -pix_fmt yuv420p'
const SINE = '-f lavfi -i sine=frequency=440'
const AUDIO = {
  aac: { codec: '-c:a aac -ar 48000 -ac 1', type: 97, sdp: ['a=rtpmap:97 MPEG4-GENERIC/48000/1', AAC_FORMAT()] },
  pcmu: { codec: '-c:a pcm_mulaw -ar 8000 -ac 1', type: 0, sdp: [] },
} as const

function AAC_FORMAT(): string {
  return 'a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=118856E500'
}

const REALM = 'camera'
const NONCE = '5a1f'
const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

/** A camera: real H.264 and audio of ffmpeg, over RTSP as much of it as clients over one connection need. */
export class RtspCamera {
  readonly #options: CameraOptions
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  readonly #udp: UdpSocket[] = []
  #ffmpeg: ChildProcess | null = null
  /** The first lines of all requests. */
  readonly requests: string[] = []

  private constructor(options: CameraOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#connected(socket))
  }

  static async start(options: CameraOptions = {}): Promise<RtspCamera> {
    const camera = new RtspCamera(options)
    camera.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(camera.#server, 'listening')
    await camera.#encode()
    return camera
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get clients(): number {
    return this.#clients.size
  }

  /** Goes away, with its clients. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const client of this.#clients) client.destroy()
    await closed
    const exited = this.#ffmpeg === null ? null : once(this.#ffmpeg, 'exit')
    this.#ffmpeg?.kill('SIGKILL')
    await exited
    for (const socket of this.#udp) socket.close()
  }

  async #encode(): Promise<void> {
    const { audio } = this.#options
    const outputs = [`-map 0:v ${H264} -f rtp rtp://127.0.0.1:${await this.#take(0)}`]
    if (audio) {
      const { codec, type } = AUDIO[audio]
      outputs.push(`-map 1:a ${codec} -payload_type ${type} -f rtp rtp://127.0.0.1:${await this.#take(1)}`)
    }
    const args = `-loglevel error -re ${VIDEO} ${audio ? `-re ${SINE}` : ''} ${outputs.join(' ')}`
    this.#ffmpeg = spawn('ffmpeg', args.split(/ +/), { stdio: 'ignore' })
  }

  /** Passes the packets that come to a port on to all clients that play. */
  async #take(track: number): Promise<number> {
    const socket = createSocket('udp4')
    this.#udp.push(socket)
    const { losesAudio = 0 } = this.#options
    let count = 0
    socket.on('message', (packet) => {
      if (track === 1 && ++count % losesAudio === 0) return
      const head = Buffer.from([0x24, track * 2, packet.length >> 8, packet.length & 0xff])
      for (const client of this.#clients) if (this.#plays.has(client)) client.write(Buffer.concat([head, packet]))
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return socket.address().port
  }

  readonly #plays = new WeakSet<Socket>()

  #connected(socket: Socket): void {
    this.#clients.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#clients.delete(socket))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        this.#request(socket, text.slice(0, end))
        text = text.slice(end + 4)
      }
    })
  }

  #request(socket: Socket, request: string): void {
    const [first = '', ...headers] = request.split('\r\n')
    const header = (name: string) =>
      headers.find((line) => line.toLowerCase().startsWith(`${name}:`))?.split(': ')[1] ?? ''
    const [method = '', uri = ''] = first.split(' ')
    this.requests.push(first)
    const reply = (status: string, lines: readonly string[] = [], body = '') =>
      socket.write([`RTSP/1.0 ${status}`, `CSeq: ${header('cseq')}`, ...lines, '', body].join('\r\n'))
    const own = this.#options.answer?.(method)
    if (own !== undefined) return void socket.write(own.replace('CSEQ', header('cseq')))
    if (method !== 'OPTIONS' && !this.#admits(method, uri, header('authorization')))
      return void reply('401 Unauthorized', [this.#challenge()])
    switch (method) {
      case 'OPTIONS':
        return void reply('200 OK', ['Public: OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN'])
      case 'DESCRIBE': {
        const sdp = this.#describe()
        return void reply('200 OK', ['Content-Type: application/sdp', `Content-Length: ${sdp.length}`], sdp)
      }
      case 'SETUP':
        return void reply('200 OK', [`Transport: ${header('transport')}`, 'Session: 1'])
      case 'PLAY':
        reply('200 OK', ['Session: 1'])
        return void this.#plays.add(socket)
      default:
        return void reply('200 OK', ['Session: 1'])
    }
  }

  #challenge(): string {
    const nonce = this.#options.login?.scheme === 'Digest' ? `, nonce="${NONCE}"` : ''
    return `WWW-Authenticate: ${this.#options.login?.scheme} realm="${REALM}"${nonce}`
  }

  #admits(method: string, uri: string, authorization: string): boolean {
    const { login } = this.#options
    if (login === undefined) return true
    const { user, password, scheme } = login
    if (scheme === 'Basic') return authorization === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    const [of, on] = [md5(`${user}:${REALM}:${password}`), md5(`${method}:${uri}`)]
    return authorization.includes(`response="${md5(`${of}:${NONCE}:${on}`)}"`)
  }

  #describe(): string {
    const { audio, encoding = 'H264' } = this.#options
    const video = ['m=video 0 RTP/AVP 96', `a=rtpmap:96 ${encoding}/90000`, 'a=control:track0']
    const audioLines = audio && [`m=audio 0 RTP/AVP ${AUDIO[audio].type}`, ...AUDIO[audio].sdp, 'a=control:track1']
    const lines = [
      'v=0',
      'o=- 1 1 IN IP4 127.0.0.1',
      's=camera',
      'c=IN IP4 0.0.0.0',
      't=0 0',
      ...video,
      ...(audioLines ?? []),
    ]
    return `${lines.join('\r\n')}\r\n`
  }
}
