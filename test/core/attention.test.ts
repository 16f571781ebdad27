import { describe, expect, it } from 'vitest'
import { type AttentionFacts, attentionOf } from '../../src/core/attention.ts'
import { coded, say } from '../../src/core/notices.ts'

const NOW_MS = Date.UTC(2026, 0, 31)
const NOTHING: AttentionFacts = {
  nowMs: NOW_MS,
  hasCountries: false,
  webhooks: [],
  expiring: [],
  namingCountries: 0,
  accountNamesCountries: false,
  engines: [],
  streams: [],
  disks: [],
  recordingsProblem: null,
  unknownMigrations: [],
  addonProblem: null,
  certificate: null,
  fullNodes: [],
  unlinkedNodes: [],
  mediaProcessEnds: [],
}
const message = (text: string) => ({ text, sentences: [] })
const of = (facts: Partial<AttentionFacts>) => attentionOf({ ...NOTHING, ...facts })
const texts = (facts: Partial<AttentionFacts>) => of(facts).map(({ text }) => text)

describe('what needs attention', () => {
  it('is nothing when all is well', () => {
    const hour = NOW_MS + 3_600_000
    expect(
      of({
        namingCountries: 3,
        hasCountries: true,
        webhooks: [
          { id: '1', url: 'https://a.example', disabled: null },
          {
            id: '2',
            url: 'https://b.example',
            disabled: { untilMs: NOW_MS, reason: [{ code: 'text', values: { text: 'over' } }] },
          },
        ],
        engines: [
          { id: 'en_1', name: 'main', status: 'playing', statusMessage: null },
          { id: 'en_2', name: 'idle', status: 'waiting', statusMessage: message('no source yet') },
        ],
        streams: [{ streamName: 'show', health: 'steady', findings: [], bitrateLowest: 1, bitrateHighest: 9 }],
        disks: [{ what: 'recordings', freeBytes: 6e9, totalBytes: 1e12 }],
      }),
    ).toEqual([])
    expect(of({ expiring: [{ kind: 'publish', id: 1, label: 'Crew', expiresAtMs: hour }] })).toHaveLength(1)
  })

  it('comes with its subject, errors first', () => {
    const items = of({
      expiring: [{ kind: 'subscribe', id: 7, label: 'Press', expiresAtMs: NOW_MS + 1000 }],
      streams: [
        { streamName: 'talk', health: 'uneven', findings: [], bitrateLowest: 2_100_000, bitrateHighest: 6_800_000 },
        { streamName: 'show', health: 'stalled', findings: [] },
        {
          streamName: 'film',
          health: 'impaired',
          findings: [{ code: 'b_frames', shown: '8%', text: 'It is odd.', advice: 'Set it.' }],
        },
      ],
      webhooks: [
        {
          id: '4',
          url: 'https://hooks.example/secret?key=1',
          disabled: { untilMs: NOW_MS + 1, reason: [{ code: 'text', values: { text: 'it fails' } }] },
        },
      ],
      engines: [
        { id: 'en_1', name: 'main', status: 'error', statusMessage: message('no ffmpeg') },
        { id: 'en_2', name: 'slow', status: 'playing', statusMessage: message('cannot keep up') },
      ],
    })
    expect(items.map(({ kind, severity, subject }) => [kind, severity, subject?.type, subject?.id])).toEqual([
      ['engine_error', 'error', 'engine', 'en_1'],
      ['webhook_paused', 'error', 'webhook', '4'],
      ['stream_stalled', 'error', 'stream', 'show'],
      ['stream_uneven', 'warning', 'stream', 'talk'],
      ['stream_impaired', 'warning', 'stream', 'film'],
      ['engine_notice', 'warning', 'engine', 'en_2'],
      ['token_expires', 'warning', 'subscribe_token', '7'],
    ])
    expect(items.map(({ text }) => text)).toContain(
      'talk arrives unevenly, 2.1 to 6.8 Mbit/s in five minutes. Set the publisher to a constant bitrate',
    )
    expect(items.map(({ text }) => text)).toContain('film: It is odd. Set it.')
    expect(JSON.stringify(items)).not.toContain('key=1')
    expect(items.at(-1)?.until).toBe('2026-01-31T00:00:01.000Z')
  })

  it('names a media process that hung for an hour', () => {
    const end = { name: null, atMs: NOW_MS - 3_599_999, isHung: true, sessions: 3 }
    expect(of({ mediaProcessEnds: [end] })).toEqual([
      {
        kind: 'media_process_ended',
        severity: 'warning',
        text: 'A WebRTC process hung, was killed and was replaced. 3 sessions ended with it. If it happens again, look into the log',
        sentences: [
          { code: 'media_process_hung', values: {} },
          { code: 'lost_sessions', values: { sessions: 3 } },
          { code: 'look_into_log', values: {} },
        ],
        until: '2026-01-31T00:00:00.001Z',
      },
    ])
    const died = { ...end, isHung: false, sessions: 1 }
    expect(of({ mediaProcessEnds: [died] })[0]?.text).toContain(
      'process died and was replaced. 1 session ended with it.',
    )
    expect(of({ mediaProcessEnds: [{ ...end, atMs: NOW_MS - 3_600_000 }] })).toEqual([])
    const named = of({
      mediaProcessEnds: [
        { ...end, name: 'https://a.example' },
        { ...died, name: 'https://b.example' },
      ],
    })
    expect(named.map(({ sentences }) => sentences[0])).toEqual([
      { code: 'node_media_process_hung', values: { node: 'https://a.example' } },
      { code: 'node_media_process_died', values: { node: 'https://b.example' } },
    ])
  })

  it('says between which nodes no stream comes, and what to do', () => {
    const unlinkedNodes = [{ from: 'https://a.example', to: 'https://b.example', problem: 'media_port' }] as const
    const [item, ...others] = of({ unlinkedNodes })
    expect([item?.kind, item?.severity, others.length]).toEqual(['node_unlinked', 'warning', 0])
    expect(item?.text).toBe(
      'Viewers at the node https://b.example are redirected to https://a.example. Its media ports do not answer: ' +
        'open UDP between the nodes (webrtc.port), or correct webrtc.publicAddresses there',
    )
  })

  it.each([
    [4.9e9, 1e12, 1],
    [5.1e9, 1e12, 0],
    [1.1e9, 20e9, 0],
    [0.9e9, 20e9, 1],
  ])('a disk with %d of %d bytes free: %d', (freeBytes, totalBytes, count) => {
    expect(of({ disks: [{ what: 'recordings', freeBytes, totalBytes }] })).toHaveLength(count)
  })

  it('names a newer database, missing addons, and tokens whose countries no database knows', () => {
    expect(texts({ namingCountries: 1, unknownMigrations: ['0099_later'], addonProblem: 'No addons' })).toEqual([
      'A newer version of Sluice has changed the database (0099_later). Upgrade this node',
      'No addons',
      '1 token names countries, but there is no country database. No address passes or fails by its country. Set geoip.database',
    ])
  })

  it('says when a certificate soon expires, has expired, or could not be replaced', () => {
    const day = 86_400_000
    const certificate = { beginsMs: NOW_MS - 80 * day, expiresMs: NOW_MS + 10 * day, isTemporary: false, problem: null }
    const [soon] = of({ certificate })
    expect(soon).toMatchObject({ kind: 'certificate_expires', severity: 'warning', until: '2026-02-10T00:00:00.000Z' })
    expect(soon?.text).toContain('expires in 10 days')
    const [expired] = of({ certificate: { ...certificate, expiresMs: NOW_MS } })
    expect(expired).toMatchObject({ kind: 'certificate_expires', severity: 'error' })
    const far = { ...certificate, expiresMs: NOW_MS + 60 * day }
    expect(of({ certificate: far })).toEqual([])
    expect(
      texts({ certificate: { ...far, problem: say(coded('certificate_new_expired', { date: '2026-01-02' })) } }),
    ).toEqual(['The certificate was not replaced: The new certificate has expired on 2026-01-02'])
    const temporary = { ...certificate, expiresMs: NOW_MS, isTemporary: true }
    expect(of({ certificate: temporary })).toEqual([])
    const away = say(coded('certificate_not_issued'), coded('authority_undecided', { host: 'ca.example' }))
    const [refused, ...others] = of({ certificate: { ...temporary, problem: away } })
    expect([refused?.kind, refused?.severity, others]).toEqual(['certificate_kept', 'error', []])
    expect(refused?.text).toMatch(
      /^Clients refuse this server until it has its first certificate\. No certificate: ca\.ex/,
    )
  })
})
