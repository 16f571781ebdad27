import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, type WriteStream, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RecordingFiles } from '../../src/media/recordings/recordingFiles.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Broadcast, broadcast } from '../support/broadcast.ts'
import { type EventReceiver, receiveEvents, subscribeTo } from '../support/eventReceiver.ts'
import { until } from '../support/until.ts'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'

const run = promisify(execFile)
const scratch = mkdtempSync(join(tmpdir(), 'sluice-recordings-'))
const allowPrivate = { webhooks: { allowPrivateTargets: true } }
/** Less than `recordings.minFreeMegabytes`, and room for the file. */
const NEARLY_FULL_BYTES = 50_000_000
let receiver: EventReceiver
let sluice: RunningApp
let h264: Recorded
let vp8: Recorded

beforeAll(async () => {
  h264 = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  vp8 = await encoded({ video: 'vp8', audio: 'opus', seconds: 4, gop: 25, size: '320x180' })
  receiver = await receiveEvents()
  sluice = await runApp({ flags: { ...allowPrivate, thumbnails: { everySeconds: 1 } } })
  await subscribeTo(sluice, receiver.url)
})
afterAll(async () => {
  await sluice.close()
  receiver.close()
  rmSync(scratch, { recursive: true })
})

interface Entry {
  id: string
  state: string
  streamName: string
  endedOn?: string
  bytes?: number
  durationMs?: number
  problem?: string
  url?: string
  thumbnailUrl?: string
}

async function list(query = '', host = sluice): Promise<Entry[]> {
  const { status, json, text } = await host.call('GET', `/api/recordings${query}`)
  expect(status, text).toBe(200)
  return json.data as Entry[]
}

const one = async (streamName: string, host = sluice): Promise<Entry> => {
  const [found] = await list(`?streamName=${streamName}`, host)
  if (!found) throw new Error(`no recording of ${streamName}`)
  return found
}

/** The recording events of a stream, sorted by name, because they may arrive in any order. */
const recordingEvents = (streamName: string) =>
  receiver.received
    .filter(({ name, data }) => name.startsWith('recording') && data['streamName'] === streamName)
    .sort((a, b) => (a.name < b.name ? -1 : 1))

async function expectEvents(streamName: string, ...names: string[]): Promise<void> {
  await until(() => recordingEvents(streamName).length >= names.length)
  expect(recordingEvents(streamName).map(({ name }) => name)).toEqual(names.map((name) => `recording ${name}`))
}

/** Records two seconds of media and more, and waits for the file. */
async function record(
  streamName: string,
  media: Recorded,
  during?: (live: Broadcast) => Promise<void>,
): Promise<Entry> {
  const live = await broadcast(sluice, media, { streamName, speed: 4, token: { record: true } })
  await until(async () => (await list(`?streamName=${streamName}`)).length === 1)
  await live.player.plays(2)
  await during?.(live)
  await live.end()
  await until(async () => (await one(streamName)).state !== 'recording')
  await until(async () => (await one(streamName)).state !== 'processing')
  return one(streamName)
}

async function fetchFile(url: string, headers: Record<string, string> = {}, host = sluice) {
  const answer = await fetch(host.base + url, { headers: { authorization: `Bearer ${host.secret}`, ...headers } })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

/** The streams and frames of a file, decoded to the end. */
function probe(bytes: Buffer) {
  const file = join(scratch, `${Math.random()}.mp4`)
  writeFileSync(file, bytes)
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', file]
  const { streams, format } = JSON.parse(execFileSync('ffprobe', args).toString()) as {
    streams: { codec_name: string; codec_tag_string: string; nb_read_frames: string; width?: number; height?: number }[]
    format: { duration: string }
  }
  return { streams, codecs: streams.map((s) => s.codec_name), seconds: Number(format.duration) }
}

const boxes = (bytes: Buffer): string[] => {
  const found: string[] = []
  for (let at = 0; at + 8 <= bytes.length; at += bytes.readUInt32BE(at))
    found.push(bytes.toString('latin1', at + 4, at + 8))
  return found
}

test('a recording equals its broadcast, is listed, fetched by ranges and deleted, with every event once', async () => {
  const entry = await record('concert', h264)
  expect(entry).toMatchObject({ state: 'completed', url: `/api/recordings/${entry.id}/download` })
  const { bytes, headers } = await fetchFile(entry.url!)
  expect([headers.get('content-type'), bytes.length]).toEqual(['video/mp4', entry.bytes])
  const { codecs, streams, seconds } = probe(bytes)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(Number(streams[0]!.nb_read_frames)).toBeGreaterThan(40)
  expect(Math.abs(seconds * 1000 - entry.durationMs!)).toBeLessThan(200)
  // The index comes first, so that a player can start and seek before it has everything.
  expect(boxes(bytes).indexOf('moov')).toBeLessThan(boxes(bytes).indexOf('mdat'))
  const part = await fetchFile(entry.url!, { range: 'bytes=100-' })
  expect([part.status, part.bytes.equals(bytes.subarray(100))]).toEqual([206, true])
  expect((await sluice.call('GET', entry.url!, undefined, { authorization: 'Bearer no' })).status).toBe(401)
  const thumbnail = await fetchFile(entry.thumbnailUrl!)
  expect(thumbnail.headers.get('content-type')).toBe('image/jpeg')
  expect(probe(thumbnail.bytes).streams[0]).toMatchObject({ codec_name: 'mjpeg', width: 320 })

  const link = (await sluice.call('POST', `/api/recordings/${entry.id}/sign`, {})).json.data.url as string
  // A player that seeks.
  const args = ['-v', 'error', '-read_intervals', '1%', '-count_packets', '-show_streams', '-of', 'json', link]
  const { stdout } = await run('ffprobe', args)
  const linked = JSON.parse(stdout) as { streams: { nb_read_packets: string }[] }
  expect(linked.streams.map(({ nb_read_packets }) => Number(nb_read_packets) > 10)).toEqual([true, true])

  expect((await sluice.call('DELETE', `/api/recordings/${entry.id}`)).json).toEqual({ status: 'success', data: true })
  expect((await fetch(link)).status).toBe(404)
  expect((await fetchFile(entry.url!)).status).toBe(404)
  expect((await fetchFile(entry.thumbnailUrl!)).status).toBe(404)
  expect((await sluice.call('GET', `/api/recordings/${entry.id}`)).status).toBe(404)
  expect((await sluice.call('DELETE', `/api/recordings/${entry.id}`)).status).toBe(404)
  expect(readdirSync(join(sluice.dataDir, 'recordings'))).not.toContain(entry.id)
  await expectEvents('concert', 'completed', 'deleted', 'started')
  expect(recordingEvents('concert')[0]!.data).toMatchObject({
    recordingId: entry.id,
    bytes: entry.bytes,
    url: entry.url,
  })
})

test("a browser's broadcast becomes a file that every browser plays", async () => {
  const entry = await record('browser', vp8)
  const { codecs, streams } = probe((await fetchFile(entry.url!)).bytes)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(streams[0]).toMatchObject({ width: 320, height: 180 })
})

test('HEVC stays as it is, with its parameter sets in the header of the file', async () => {
  const hevc = await encoded({ video: 'hevc', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  const { url } = await record('hevc', hevc)
  const { streams, codecs } = probe((await fetchFile(url ?? '')).bytes)
  expect(codecs).toEqual(['hevc', 'aac'])
  expect(streams[0]).toMatchObject({ codec_tag_string: 'hvc1', width: 320, height: 180 })
})

test('a broadcast that changes its format still becomes one file', async () => {
  const entry = await record('changing', h264, async ({ player }) => {
    player.change(h264.tracks.filter((track) => track.kind === 'video').map((track) => ({ ...track, width: 322 })))
    await player.plays(3)
  })
  expect(entry).toMatchObject({ state: 'completed' })
  const { codecs, streams, seconds } = probe((await fetchFile(entry.url!)).bytes)
  expect(codecs).toEqual(['h264', 'aac'])
  expect(streams[0]).toMatchObject({ width: 322, height: 180 })
  expect(seconds).toBeGreaterThan(3)
})

test('a nearly full disk ends recordings, and the media so far becomes a file', async () => {
  const free = vi.spyOn(RecordingFiles.prototype, 'free')
  try {
    const live = await broadcast(sluice, h264, { streamName: 'nearly', token: { record: true } })
    await until(async () => (await list('?streamName=nearly')).length === 1)
    await live.player.plays(1)
    free.mockResolvedValue(NEARLY_FULL_BYTES)
    // The space is looked at when another recording begins.
    const other = await broadcast(sluice, h264, { streamName: 'other', token: { record: true } })
    // Does not wait for the end of the broadcast, which continues.
    await until(async () => (await one('nearly')).state === 'completed')
    const problem = 'the disk is full: less is free than recordings.minFreeMegabytes asks for'
    expect(await one('nearly')).toMatchObject({ problem, bytes: expect.any(Number) })
    await live.end()
    await other.end()
  } finally {
    free.mockRestore()
  }
})

test('a recording that a full disk ends reports it at once, with the time of its last media, though the store was full too', async () => {
  const begun = vi.spyOn(RecordingFiles.prototype, 'begin')
  const file = (): WriteStream | undefined => begun.mock.results.at(-1)?.value as WriteStream | undefined
  const { store } = sluice.app.ctx
  const transaction = store.transaction.bind(store)
  let [isFull, refused] = [false, 0]
  const written = vi.spyOn(store, 'transaction').mockImplementation((work) => {
    if (isFull) refused += 1
    return isFull ? Promise.reject(new StoreUnavailable('database or disk is full')) : transaction(work)
  })
  try {
    const live = await broadcast(sluice, h264, { streamName: 'full', token: { record: true } })
    await until(async () => (await list('?streamName=full')).length === 1)
    await until(() => (file()?.bytesWritten ?? 0) > 50_000)
    isFull = true
    file()?.destroy(new Error('ENOSPC: no space left on device, write'))
    const failedAtMs = Date.now()
    await until(() => refused >= 2)
    isFull = false
    // Does not wait for the end of the broadcast, which continues.
    await until(async () => (await one('full')).state !== 'recording')
    const entry = await one('full')
    expect(entry.problem).toBe('the recording cannot be written: ENOSPC: no space left on device, write')
    expect(Date.parse(entry.endedOn ?? '')).toBeLessThanOrEqual(failedAtMs)
    await expectEvents('full', 'completed', 'error', 'started')
    expect(await one('full')).toMatchObject({ state: 'completed', problem: entry.problem, endedOn: entry.endedOn })
    await live.end()
  } finally {
    begun.mockRestore()
    written.mockRestore()
  }
})

test('a recording that cannot start is an error with a reason', async () => {
  const dir = join(scratch, 'no-directory')
  writeFileSync(dir, '')
  const broken = await runApp({ flags: { ...allowPrivate, recordings: { dir } } })
  await subscribeTo(broken, receiver.url)
  const live = await broadcast(broken, h264, { streamName: 'broken', token: { record: true } })
  await until(async () => (await list('', broken))[0]?.state === 'error')
  await expectEvents('broken', 'error', 'started')
  expect((await one('broken', broken)).problem).toContain('cannot be written')
  await live.end()
  await broken.close()
})

test('a token without record records nothing, and a recording under way cannot be deleted', async () => {
  const unrecorded = await broadcast(sluice, h264, { streamName: 'private' })
  const live = await broadcast(sluice, h264, { streamName: 'now', token: { record: true } })
  await until(async () => (await list('?streamName=now')).length === 1)
  const { id } = await one('now')
  expect((await sluice.call('DELETE', `/api/recordings/${id}`)).status).toBe(409)
  expect((await sluice.call('GET', `/api/recordings/${id}/download`)).status).toBe(409)
  await live.end()
  await unrecorded.end()
  expect(await list('?streamName=private')).toEqual([])
})

test('the list is paged by a cursor that is valid for its filters only', async () => {
  const first = await sluice.call('GET', '/api/recordings?limit=1')
  const { cursor, hasMore } = first.json.pagination as { cursor: string; hasMore: boolean }
  expect(hasMore).toBe(true)
  const second = await sluice.call('GET', `/api/recordings?limit=1&cursor=${cursor}`)
  expect(second.json.data[0].id < first.json.data[0].id).toBe(true)
  expect((await sluice.call('GET', `/api/recordings?limit=1&streamName=now&cursor=${cursor}`)).status).toBe(400)
  const wrong = await sluice.call('GET', '/api/recordings?limit=0&tokenId=x&colour=red')
  expect([wrong.status, Object.keys(wrong.json.data.errors as object).sort()]).toEqual([400, ['limit', 'tokenId']])
})

const thumbnailsOf = (streamName: string) =>
  receiver.received.filter(({ headers }) => headers['x-service-stream-id'] === `${sluice.accountId}/${streamName}`)

test('thumbnails of a feed arrive as JPEG, 320 pixels wide, at once and repeatedly; on demand once, whatever its token says', async () => {
  const live = await broadcast(sluice, vp8, { streamName: 'seen', token: { enableThumbnails: true } })
  const plain = await broadcast(sluice, vp8, { streamName: 'shot' })
  expect((await sluice.call('POST', '/api/thumbnails', { streamName: 'shot' })).json.data).toBe(true)
  await until(() => thumbnailsOf('seen').length > 0 && thumbnailsOf('shot').length > 0)
  const before = thumbnailsOf('seen').length
  await until(() => thumbnailsOf('seen').length > before + 1)
  expect(thumbnailsOf('shot')).toHaveLength(1)
  expect((await sluice.call('GET', '/api/streams/shot/thumbnail')).status).toBe(200)
  await Promise.all([live.end(), plain.end()])
  const [thumbnail] = thumbnailsOf('seen')
  expect(thumbnail?.headers).toMatchObject({
    'x-service-feed-id': live.feed.feedId,
    'x-service-token-id': String(live.tokenId),
  })
  const args = ['-v', 'error', '-show_streams', '-of', 'json', '-f', 'mjpeg', 'pipe:0']
  for (const { body: input } of [thumbnail!, thumbnailsOf('shot')[0]!]) {
    const { streams } = JSON.parse(execFileSync('ffprobe', args, { input }).toString()) as { streams: unknown[] }
    expect(streams).toMatchObject([{ codec_name: 'mjpeg', width: 320, height: 180 }])
  }
})

describe('when a process dies', () => {
  const started: ChildProcess[] = []
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL')
  })
  const host = fileURLToPath(new URL('recordingHost.ts', import.meta.url))

  test('kill -9 of the server: the next start completes the recording with the media so far', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-recording-host-'))
    const server = spawn(process.execPath, [host, dataDir, receiver.url], { stdio: ['ignore', 'pipe', 'inherit'] })
    started.push(server)
    await new Promise((resolve) => server.stdout.once('data', resolve))
    const folder = join(dataDir, 'recordings')
    const size = () => {
      const [id] = existsSync(folder) ? readdirSync(folder) : []
      return id ? (statSync(join(folder, id, 'part-0.mkv'), { throwIfNoEntry: false })?.size ?? 0) : 0
    }
    await until(() => size() > 200_000)
    // An event in flight when its sender dies is not sent again, so it must have arrived before.
    await expectEvents('killed', 'started')
    server.kill('SIGKILL')
    await new Promise((resolve) => server.once('exit', resolve))
    const killedAtMs = Date.now()

    const next = await runApp({ dataDir, flags: allowPrivate })
    try {
      await until(async () => (await list('', next))[0]?.state === 'completed')
      const entry = await one('killed', next)
      const { codecs, seconds } = probe((await fetchFile(entry.url!, {}, next)).bytes)
      expect(codecs).toEqual(['h264', 'aac'])
      expect(seconds).toBeGreaterThan(1)
      expect(Date.parse(entry.endedOn ?? '')).toBeLessThanOrEqual(killedAtMs)
      await expectEvents('killed', 'completed', 'started')
      expect(readdirSync(join(folder, entry.id))).toEqual(['recording.json', 'recording.mp4', 'thumbnail.jpeg'])
    } finally {
      await next.close()
      rmSync(dataDir, { recursive: true })
    }
  })

  test('when ffmpeg is killed while it makes the file, it starts again', async () => {
    const script = join(scratch, 'ffmpeg-that-dies')
    const body = `#!/bin/sh\n[ -e "$0.once" ] || { : > "$0.once"; kill -9 $$; }; exec ffmpeg "$@"\n`
    writeFileSync(script, body, { mode: 0o755 })
    const host = await runApp({ flags: { ffmpeg: { path: script } } })
    const live = await broadcast(host, h264, { token: { record: true } })
    await until(async () => (await list('', host)).length === 1)
    await live.end()
    await until(async () => (await one('show', host)).state === 'completed')
    expect(existsSync(`${script}.once`)).toBe(true)
    await host.close()
  })

  test('a start that finds a finished file records it, whenever the process before was killed, also where its folder was moved', async () => {
    const [dataDir, moved] = [join(scratch, 'twice'), join(scratch, 'moved')]
    const first = await runApp({ dataDir })
    const live = await broadcast(first, h264, { token: { record: true } })
    await until(async () => (await list('', first)).length === 1)
    await live.end()
    await until(async () => (await one('show', first)).state === 'completed')
    const entry = await one('show', first)
    // The state between the last rename and its record.
    await first.app.ctx.store.transaction(async (tx) => {
      const row = await tx.recordings.lock(entry.id)
      if (row) await tx.recordings.replace({ ...row, state: 'processing', bytes: null, durationMs: null, tracks: [] })
    })
    writeFileSync(join(dataDir, 'recordings', entry.id, 'part-0.mkv'), 'left over')
    await first.close()
    execFileSync('mv', [dataDir, moved])
    const next = await runApp({ dataDir: moved })
    await until(async () => (await one('show', next)).state === 'completed')
    expect(await one('show', next)).toEqual(entry)
    expect(existsSync(join(moved, 'recordings', entry.id, 'part-0.mkv'))).toBe(false)
    expect((await next.call('POST', `/api/recordings/${entry.id}/sign`, {})).status).toBe(200)
    expect((await next.call('DELETE', `/api/recordings/${entry.id}`)).status).toBe(200)
    expect(readdirSync(join(moved, 'recordings'))).toEqual([])
    await next.close()
  })

  test('a stop of the server finishes recordings under way', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'sluice-recording-stop-'))
    // A slow machine may need longer for it than the grace of a server by default, which leaves the rest to the next start.
    const first = await runApp({ dataDir, flags: { server: { shutdownGraceSeconds: 300 } } })
    const { player } = await broadcast(first, h264, { token: { record: true }, speed: 4 })
    await until(async () => (await list('', first)).length === 1)
    await player.plays(1)
    await first.close()
    const next = await runApp({ dataDir })
    const [entry] = await list('', next)
    await next.close()
    rmSync(dataDir, { recursive: true })
    expect(entry).toMatchObject({ state: 'completed' })
  })

  test('without ffmpeg a recording is an error with a reason', async () => {
    const without = await runApp({ flags: { ...allowPrivate, ffmpeg: { path: 'no-such-program' } } })
    await subscribeTo(without, receiver.url)
    const live = await broadcast(without, h264, { streamName: 'without', token: { record: true } })
    await until(async () => (await list('', without)).length === 1)
    await live.end()
    await until(async () => (await one('without', without)).state === 'error')
    expect((await one('without', without)).problem).toContain('ffmpeg.path')
    await expectEvents('without', 'error', 'started')
    await without.close()
  })
})
