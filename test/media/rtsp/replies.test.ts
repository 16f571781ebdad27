import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RtspReply, RtspReplies } from '../../../src/media/rtsp/replies.ts'

const media = (payload: Buffer) =>
  Buffer.concat([Buffer.from([0x24, 0, payload.length >> 8, payload.length & 0xff]), payload])
const RTP = media(Buffer.alloc(12, 7))

function read(...chunks: readonly (string | Buffer)[]): { out: string; seen: RtspReply[]; problem: string | null } {
  const seen: RtspReply[] = []
  const replies = new RtspReplies((reply) => {
    seen.push(reply)
    return reply.status !== 302
  })
  let out = ''
  for (const chunk of chunks) {
    const pushed = replies.push(Buffer.from(chunk as string, 'latin1'))
    if (typeof pushed === 'string') return { out, seen, problem: pushed }
    out += Buffer.concat(pushed).toString('latin1')
  }
  return { out, seen, problem: null }
}

/** The lines of messages as ffmpeg reads them: without carriage returns, and without bodies and packets between them. */
function linesOf(bytes: string): string[] {
  const lines: string[] = []
  let [line, bodyLength] = ['', 0]
  for (let at = 0; at < bytes.length; at += 1) {
    const character = bytes.charAt(at)
    if (character === '$' && line === '') at += 3 + bytes.charCodeAt(at + 2) * 256 + bytes.charCodeAt(at + 3)
    else if (character !== '\n') line += character === '\r' ? '' : character
    else {
      if (line === '') at += bodyLength
      bodyLength = line === '' ? 0 : Number(/^content-length: *(\d+)/i.exec(line)?.[1] ?? bodyLength)
      lines.push(line)
      line = ''
    }
  }
  return lines
}

const OK = 'RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\nv=0\n'

describe('answers of an RTSP server', () => {
  test('go on in one form, with their body and the media between them, however the bytes arrive', () => {
    const all = Buffer.concat([Buffer.from(OK), RTP, Buffer.from('RTSP/1.0 200 OK\nsession: 7\n\n'), RTP])
    const packet = RTP.toString('latin1')
    const first = 'RTSP/1.0 200 OK\r\ncseq: 1\r\ncontent-length: 4\r\n\r\nv=0\n'
    const expected = [first, 'RTSP/1.0 200 OK\r\nsession: 7\r\n\r\n', ''].join(packet)
    expect(read(all).out).toBe(expected)
    expect(read(...[...all].map((byte) => Buffer.from([byte]))).out).toBe(expected)
  })

  test('cost as much as a hundred packets of media, and what is not whole costs nothing', () => {
    const replies = new RtspReplies(() => true)
    const costs = [`\r\n${OK}\r\n${OK}`, RTP, OK.slice(0, 20), OK.slice(20)].map((chunk) => {
      replies.push(Buffer.from(chunk as string, 'latin1'))
      return replies.cost
    })
    expect(costs).toEqual([200, 1, 0, 100])
  })

  test('are none with more headers than any server sends', () => {
    const head = (headers: number) => `RTSP/1.0 200 OK\n${'a: b\n'.repeat(headers)}\n`
    expect(read(head(64)).problem).toBeNull()
    expect(read(head(65)).problem).toBe('The source does not speak RTSP')
  })

  test('keep each way to log in', () => {
    const { out } = read(
      'RTSP/1.0 401 Unauthorized\r\nWWW-Authenticate: Digest a="b"\r\nWWW-Authenticate: Basic c="d"\r\n\r\n',
    )
    expect(out).toContain('www-authenticate: Digest a="b"\r\nwww-authenticate: Basic c="d"\r\n')
  })

  test.each([
    ['RTSP/1.0 302 Moved\r\nLocation: rtsp://10.0.0.1/\r\n\r\n', ''],
    ['RTSP/1.0 200 OK\r\nLocation: rtsp://10.0.0.1/\r\n\r\n', 'RTSP/1.0 200 OK\r\n\r\n'],
    // ffmpeg leaves carriage returns out wherever they are.
    ['RTSP/1.0 200 OK\r\nLo\rcation: rtsp://10.0.0.1/\r\n\r\n', 'RTSP/1.0 200 OK\r\n\r\n'],
    ['RTSP/1.0 200 OK\r\nA: b\rLocation: rtsp://10.0.0.1/\r\n\r\n', 'RTSP/1.0 200 OK\r\n\r\n'],
    ['RTSP/1.0 200 OK\r\n$\0\0\u0001xLocation: x\r\n\r\n', 'RTSP/1.0 200 OK\r\n\r\n'],
    // ffmpeg reads the payload of a short packet as a message.
    ['$\0\0\u0004RTSP', ''],
    ['REDIRECT rtsp://a/ RTSP/1.0\r\nLocation: rtsp://10.0.0.1/\r\n\r\n', ''],
  ])('%j never lead elsewhere', (text, out) => {
    expect(read(text)).toMatchObject({ out, problem: null })
  })

  test.each([
    'HTTP/1.1 200 OK\r\n\r\n',
    'SSH-2.0-x\r\n\r\n',
    `RTSP/1.0 200 OK\r\nA: ${'x'.repeat(20_000)}`,
    'RTSP/1.0 200 OK\r\nContent-Length: 70000\r\n\r\n',
    'RTSP/1.0 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n',
  ])('that are none end the connection', (text) => {
    expect(read(text).problem).toBe('The source does not speak RTSP')
  })

  test('of any bytes throw nothing and hold little', () => {
    const part = fc.oneof(
      fc.constantFrom(
        'RTSP/1.0 200 OK\r\n',
        'Location: x\r\n',
        'RTSP/1.0 ',
        '200',
        '302',
        ' OK',
        '\r\n',
        '\n',
        '\r',
        '$',
        'Location: x',
        'Content-Length: ',
        '5',
        ':',
        '\0',
      ),
      fc.string({ maxLength: 8 }),
    )
    fc.assert(
      fc.property(fc.array(fc.array(part, { maxLength: 12, size: 'max' }), { maxLength: 8 }), (chunks) => {
        const { out, problem } = read(...chunks.map((parts) => parts.join('')))
        expect([null, 'The source does not speak RTSP']).toContain(problem)
        expect(linesOf(out).filter((line) => /^location:/i.test(line))).toEqual([])
      }),
      { numRuns: 20_000 },
    )
  })
})
