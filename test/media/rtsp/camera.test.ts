import { describe, expect, test } from 'vitest'
import { RtspTalk } from '../../../src/media/rtsp/camera.ts'
import { readSdp } from '../../../src/media/rtsp/sdp.ts'

const sdp = (...lines: readonly string[]) => ['v=0', 's=x', ...lines, ''].join('\r\n')
const H264 = ['m=video 0 RTP/AVP 96', 'a=rtpmap:96 H264/90000']

describe('a session description', () => {
  test.each([
    [sdp(...H264, 'm=audio 0 RTP/AVP 97', 'a=rtpmap:97 mpeg4-generic/48000/2'), 'H264', 'MPEG4-GENERIC'],
    [sdp('m=audio 0 RTP/AVP 8', ...H264), 'H264', 'PCMA'],
    [sdp('m=video 0 RTP/AVP 26'), 'JPEG', null],
    [sdp('m=application 0 RTP/AVP 98', 'a=rtpmap:98 vnd.onvif.metadata/90000'), null, null],
    [sdp('m=video 0 RTP/AVP 99'), 'UNKNOWN', null],
    [sdp(`m=video 0 RTP/AVP ${'9'.repeat(60_000)}`), 'UNKNOWN', null],
    ['', null, null],
  ])('names its codecs', (text, video, audio) => {
    expect(readSdp(text)).toEqual({ video, audio })
  })
})

const describes = (text: string) => ({
  status: 200,
  reason: 'OK',
  headers: new Map([['content-type', 'application/sdp']]),
  body: Buffer.from(text),
})
const answers = (status: number, reason = '') => ({
  status,
  reason,
  headers: new Map<string, string>(),
  body: Buffer.alloc(0),
})

const URL_OF = new URL('rtsp://192.0.2.1/a')

describe('what a source answers', () => {
  test('asks once to begin again where its audio must be encoded', () => {
    const talk = new RtspTalk(URL_OF)
    const both = describes(sdp(...H264, 'm=audio 0 RTP/AVP 0'))
    expect([talk.judge(both), talk.encodesAudio, talk.judge(both)]).toEqual(['again', true, null])
  })

  test('names what no stream carries', () => {
    expect(new RtspTalk(URL_OF).judge(describes(sdp('m=video 0 RTP/AVP 26')))).toMatchObject({
      kind: 'unsuitable',
      message: 'The source sends video as JPEG; set it to H.264 or H.265',
    })
    expect(new RtspTalk(URL_OF).judge(describes(sdp()))).toMatchObject({ kind: 'unsuitable' })
  })

  test.each([
    [401, true, 'refused', 'The source refuses the user or the password'],
    [401, false, 'refused', 'The source wants a user and a password'],
    [403, true, 'refused', 'The source refuses access (403)'],
    [404, true, 'lost', 'The source has nothing under this path (404)'],
    [503, true, 'lost', `The source answers 503 Busy … ${'x'.repeat(193)}`],
    [200, true, 'lost', 'The source gives no media: bye'],
  ])('%i is put into words', (status, hasLogin, kind, message) => {
    const talk = new RtspTalk(hasLogin ? new URL('rtsp://me:s3cret@192.0.2.1/a') : URL_OF)
    talk.judge(answers(status, status === 503 ? `Busy s3cret ${'x'.repeat(999)}` : 'OK'))
    expect(talk.problem('bye')).toMatchObject({ kind, message })
  })
})
