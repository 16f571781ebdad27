import { expect, test } from 'vitest'
import { readCreateIngest, readUpdateIngest, toIngestRecord } from '../../../src/core/channels/ingest.ts'
import type { ChannelSettings, Ingest, IngestAudio } from '../../../src/core/channels/types.ts'

const settings: ChannelSettings = {
  regions: ['local'],
  sources: { allowPrivate: true, hasAddress: () => true, isOurs: () => false },
} as unknown as ChannelSettings

const ENGLISH = { pid: 257, language: 'en', label: 'English' }
const GERMAN = { pid: 258, language: 'de', label: 'Deutsch' }

const created = (audio: unknown, type = 'srt-push') =>
  readCreateIngest({ name: 'Camera', type, region: 'local', tracks: { audio } }, settings)

const problemsOf = (audio: unknown, type?: string) => {
  const read = created(audio, type)
  return read.ok ? null : read.error
}

test('the audio tracks of an SRT ingest are read in their order, and its record has them', () => {
  const read = created([GERMAN, ENGLISH])
  expect(read).toMatchObject({ ok: true, value: { audio: [GERMAN, ENGLISH] } })
  const ingest: Ingest = {
    id: 'in_1',
    accountId: 'a',
    channelId: 'ch_1',
    name: 'Camera',
    type: 'srt-push',
    region: 'local',
    audio: [GERMAN, { pid: null, language: 'en', label: 'English' }],
    createdAtMs: 0,
  }
  expect(toIngestRecord(ingest, null, settings).tracks.audio).toEqual([GERMAN, { language: 'en', label: 'English' }])
})

test.each<[string, unknown, Record<string, unknown>]>([
  [
    'a PID in none of two',
    [{ language: 'en', label: 'A' }, GERMAN],
    { 'tracks.audio[0].pid': ['is required with more than one track'] },
  ],
  ['a PID twice', [ENGLISH, { ...GERMAN, pid: 257 }], { 'tracks.audio[1].pid': ['is listed twice'] }],
  ['a label twice', [ENGLISH, { ...GERMAN, label: 'English' }], { 'tracks.audio[1].label': ['is listed twice'] }],
  [
    'a label that no playlist can quote',
    [{ ...ENGLISH, label: 'say "hi"' }],
    { 'tracks.audio[0].label': ['must not contain quotation marks or control characters'] },
  ],
  [
    'a language that is none',
    [{ ...ENGLISH, language: 'en_GB' }],
    { 'tracks.audio[0].language': ['must be a language tag (RFC 5646), such as en or pt-BR'] },
  ],
  [
    'a PID of the tables',
    [{ ...ENGLISH, pid: 0 }],
    { 'tracks.audio[0].pid': ['must be the PID in the transport stream: a whole number from 16 to 8190'] },
  ],
  [
    'a PID that there is not',
    [{ ...ENGLISH, pid: 8191 }],
    { 'tracks.audio[0].pid': ['must be a whole number from 0 to 8190'] },
  ],
  [
    '13 tracks',
    Array.from({ length: 13 }, (_, at) => ({ ...ENGLISH, pid: 100 + at, label: String(at) })),
    { 'tracks.audio': ['must be a list of 0 to 12 entries; it has 13'] },
  ],
])('with %s they are refused with field and reason', (_, audio, errors) => {
  expect(problemsOf(audio)).toEqual(errors)
})

test('12 tracks are taken, and none is refused', () => {
  const twelve = Array.from({ length: 12 }, (_, at) => ({ ...ENGLISH, pid: 100 + at, label: String(at) }))
  expect([problemsOf(twelve), problemsOf([]), problemsOf([{ language: 'en', label: 'A' }])]).toEqual([null, null, null])
})

test('over enhanced RTMP they have the numbers of tracks', () => {
  expect(
    problemsOf(
      [
        { ...ENGLISH, pid: 0 },
        { ...GERMAN, pid: 255 },
      ],
      'rtmp-push',
    ),
  ).toBe(null)
  expect(
    problemsOf(
      [
        { ...ENGLISH, pid: 0 },
        { ...GERMAN, pid: 256 },
      ],
      'rtmp-push',
    ),
  ).toEqual({
    'tracks.audio[1].pid': ['must be the trackId of enhanced RTMP: a whole number from 0 to 255'],
  })
})

test('other sources have one, also after a change of the type', () => {
  const read = readCreateIngest(
    { name: 'Camera', type: 'rtsp-pull', url: 'rtsp://a.test/1', region: 'local', tracks: { audio: [ENGLISH] } },
    settings,
  )
  expect(read).toMatchObject({
    ok: false,
    error: { tracks: ['rtsp-pull has one audio track; several are for rtmp-push, rtmp-pull, srt-push, srt-pull'] },
  })
  const audio: readonly IngestAudio[] = [ENGLISH, GERMAN]
  const updated = (body: unknown) =>
    readUpdateIngest(body, { type: 'srt-push', region: 'local', url: null, shownUrl: undefined, audio }, settings)
  expect(updated({ type: 'rtmp-push' })).toMatchObject({
    ok: false,
    error: { 'tracks.audio[0].pid': [expect.any(String)], 'tracks.audio[1].pid': [expect.any(String)] },
  })
  expect(updated({ type: 'rtmp-push', tracks: null })).toMatchObject({ ok: true, value: { audio: [] } })
  // As the record shows them: nothing changes.
  expect(updated({ tracks: { audio } })).toEqual({ ok: true, value: {} })
  expect(updated({ tracks: { audio: [GERMAN] } })).toEqual({ ok: true, value: { audio: [GERMAN] } })
})
