import { describe, expect, it } from 'vitest'
import { type AnsweredMedia, buildAnswer } from '../../../../src/media/relay/wire/sdp/answer.ts'
import { type SdpPlan, planPublish } from '../../../../src/media/relay/wire/sdp/plan.ts'
import { load, planned, read } from './offers.ts'

const transport = {
  iceUfrag: 'ours',
  icePwd: 'password-of-at-least-22',
  fingerprint: Array.from({ length: 32 }, () => 'AB').join(':'),
  sdpId: '12345',
  hosts: [],
  transportCc: true,
}
const received = (plan: SdpPlan): AnsweredMedia[] =>
  plan.map((chosen) => (chosen === null ? null : { direction: 'recvonly', chosen, rids: [] }))

const publisher = load('browser-publish')
const simulcast = load('browser-simulcast')

describe('an offer as publishers write it is taken:', () => {
  const answerTo = (text: string): string => {
    const offer = read(text)
    return buildAnswer(offer, transport, received(planned(planPublish(offer, null))))
  }
  const [session = '', audio = '', video = ''] = publisher.split(/(?=m=)/)
  const alone = session.replace(/a=group.*\r\n/, '') + video

  it('FFmpeg 8 waits for DTLS, and gets a client', () => {
    const text = publisher.replaceAll('setup:actpass', 'setup:passive')
    expect([read(text).dtlsRole, read(publisher).dtlsRole]).toEqual(['client', 'server'])
    expect(answerTo(text).match(/a=setup:\w+/g)).toEqual(['a=setup:active', 'a=setup:active'])
  })

  it('a mid in BUNDLE that no line has does not matter', () => {
    for (const group of ['BUNDLE 1 7', 'BUNDLE 7 1'])
      expect(answerTo(session.replace('BUNDLE 0 1', group) + video)).toContain('a=group:BUNDLE 1\r\n')
  })

  it('one line needs no BUNDLE, and then no mid', () => {
    expect(answerTo(alone)).not.toContain('BUNDLE')
    expect(answerTo(alone)).toContain('a=mid:1\r\n')
    expect(answerTo(alone.replace(/a=mid.*\r\n/, ''))).not.toContain('a=mid')
  })

  it.each([
    ['OPUS/48000', 111, 'a=rtpmap:111 opus/48000\r\n'],
    ['PCMA/8000', 111, 'a=rtpmap:111 PCMA/8000\r\n'],
    ['', 8, 'a=rtpmap:8 PCMA/8000\r\n'],
    ['', 0, 'a=rtpmap:0 PCMU/8000\r\n'],
  ])('audio as %s %i', (map, type, line) => {
    const lines = audio.replace(/^(m=audio \d+ \S+).*/, `$1 ${type}`).replaceAll(/a=(rtpmap|fmtp|rtcp-fb):.*\r\n/g, '')
    const text = session + lines + (map === '' ? '' : `a=rtpmap:${type} ${map}\r\n`) + video
    expect(answerTo(text)).toContain(line)
  })

  it('Opus comes before G.711, whatever the order of the offer is', () => {
    const text = publisher.replace(/^(m=audio \d+ \S+) (.*)/m, '$1 8 $2')
    expect(planned(planPublish(read(text), null))[0]?.name).toBe('opus')
  })

  it('layers of simulcast may be written as before RFC 8853', () => {
    const rids = read(simulcast).media.find(({ kind }) => kind === 'video')?.rids ?? []
    expect(rids.length).toBeGreaterThan(1)
    const old = simulcast.replace('a=simulcast:send ', 'a=simulcast: send rid=')
    expect(read(old).media.find(({ kind }) => kind === 'video')?.rids).toEqual(rids)
  })

  it('but not Opus of another rate', () => {
    const text = publisher.replace(/^(m=audio \d+ \S+) .*/m, '$1 111').replace('opus/48000/2', 'opus/44100/2')
    const problem = 'The offer sends Opus with 44100/2, and only 48000/2 is served.'
    expect(planPublish(read(text), null)).toEqual({ ok: false, error: { status: 406, problem } })
  })
})
