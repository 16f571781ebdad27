import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { coded, say } from '../../src/core/notices.ts'
import type { StoredRecording, Tx } from '../../src/store/store.ts'
import { newAccount, openFeed } from './store.samples.ts'
import type { Stores } from './store.ts'

const T0 = 1_750_000_000_000

export function newRecording(over: Partial<StoredRecording> = {}): StoredRecording {
  return {
    id: timeOrderedId(T0, systemRandom),
    accountId: 'nobody',
    streamName: 'stage',
    tokenId: 7,
    feedId: '0a0b0c0d-0000-4000-8000-000000000000',
    state: 'recording',
    startedAtMs: T0,
    endedAtMs: null,
    bytes: null,
    durationMs: null,
    tracks: [],
    problem: null,
    expiresAtMs: null,
    hostKey: 'here',
    node: 'node1',
    ...over,
  }
}

export function recordingsSuite(stores: Stores): void {
  const write = <T>(work: (tx: Tx) => Promise<T>) => stores.store.transaction(work)
  const make = async (over: Partial<StoredRecording>) => {
    const recording = newRecording(over)
    await write((tx) => tx.recordings.insert(recording))
    return recording
  }
  const reads = () => stores.other.read.recordings

  describe('recordings', () => {
    test('are read as they were written, and only by their account', async () => {
      const accountId = newAccount()
      const made = await make({ accountId })
      const finished: StoredRecording = {
        ...made,
        state: 'completed',
        endedAtMs: T0 + 5000,
        bytes: 2 ** 40,
        durationMs: 4321,
        tracks: [{ type: 'video', codec: 'h264', width: 1280, height: 720 }],
        problem: say(coded('recording_empty')),
        expiresAtMs: T0 + 6000,
        node: 'node2',
      }
      await write(async (tx) => {
        expect(await tx.recordings.lock(made.id)).toEqual(made)
        await tx.recordings.replace(finished)
      })
      expect(await reads().get(accountId, made.id)).toEqual(finished)
      expect(await reads().get(newAccount(), made.id)).toBeUndefined()
    })

    test('are paged from the newest on, by stream and by token', async () => {
      const accountId = newAccount()
      const rows = [
        await make({ accountId }),
        await make({ accountId, streamName: 'other' }),
        await make({ accountId, tokenId: 8 }),
        await make({ accountId, state: 'deleting' }),
      ]
      const [first, other, eighth] = rows.map(({ id }) => id)
      const ids = async (query: object) => (await reads().page({ accountId, limit: 10, ...query })).map(({ id }) => id)
      expect(await ids({})).toEqual([eighth, other, first])
      expect(await ids({ limit: 1 })).toEqual([eighth])
      expect(await ids({ after: eighth })).toEqual([other, first])
      expect(await ids({ streamName: 'other' })).toEqual([other])
      expect(await ids({ tokenId: 7 })).toEqual([other, first])
    })

    test('of feeds on the air are switched for all sources, and seen with their streams while they are under way', async () => {
      const [accountId, node] = [newAccount(), randomUUID()]
      const of = { accountId, streamName: 'stage' }
      const [left, right, over, other] = [
        openFeed({ ...of, sourceId: 'left', node }),
        openFeed({ ...of, sourceId: 'right', node: randomUUID() }),
        openFeed({ ...of, sourceId: 'over', node }),
        openFeed({ ...of, streamName: 'other', node }),
      ] as const
      await write(async (tx) => {
        for (const one of [left, right, over, other]) await tx.feeds.insert(one)
        await tx.feeds.end(over.feedId, 2000)
      })
      const switched = async () =>
        (await stores.other.read.feeds.switched(node)).map(({ feedId, recordSwitch }) => [feedId, recordSwitch])
      expect(await switched()).toEqual([])
      await write((tx) => tx.feeds.switchRecording(of, true))
      expect(await switched()).toEqual([[left.feedId, true]])
      await write((tx) => tx.feeds.switchRecording(of, false))
      expect(await switched()).toEqual([[left.feedId, false]])
      const recorded = async () => {
        const feeds = await stores.other.read.feeds.onAir({ ...of, limit: 1 })
        return feeds.filter(({ isRecorded }) => isRecorded).map(({ sourceId }) => sourceId)
      }
      expect(await recorded()).toEqual([])
      const made = await make({ accountId, feedId: right.feedId })
      expect(await recorded()).toEqual(['right'])
      await write((tx) => tx.recordings.replace({ ...made, state: 'processing' }))
      expect(await recorded()).toEqual([])
    })

    test('that are not finished are found by their host key', async () => {
      const hostKey = newAccount()
      const open = await make({ hostKey: hostKey })
      const processing = await make({ hostKey: hostKey, state: 'processing' })
      const deleting = await make({ hostKey: hostKey, state: 'deleting' })
      await make({ hostKey: hostKey, state: 'completed' })
      await make({ hostKey: hostKey, state: 'error' })
      await make({ hostKey: 'another host' })
      expect((await reads().unfinished(hostKey)).map(({ id }) => id)).toEqual([open.id, processing.id])
      expect(await reads().deleting(hostKey)).toEqual([deleting.id])
    })

    test('whose files were away are under way again when a host has them, and others that failed are not', async () => {
      const failed = { state: 'error', hostKey: 'here', endedAtMs: T0, expiresAtMs: T0 } as const
      const away = await make({ ...failed, problem: say(coded('recording_away')) })
      const moved = await make({ ...failed, problem: say(coded('recording_restored')), hostKey: 'there' })
      const absent = await make({ ...failed, problem: say(coded('recording_away')) })
      const empty = await make({ ...failed, problem: say(coded('recording_empty')) })
      const done = await make({ ...failed, state: 'completed', problem: say(coded('recording_away')) })
      await write((tx) => tx.recordings.adopt([away.id, moved.id, empty.id, done.id], 'here'))
      const read = (id: string) => write((tx) => tx.recordings.lock(id))
      const again = { state: 'recording', hostKey: 'here', endedAtMs: null, expiresAtMs: null, problem: null }
      expect([await read(away.id), await read(moved.id)]).toEqual([away, moved].map((one) => ({ ...one, ...again })))
      expect([await read(absent.id), await read(empty.id), await read(done.id)]).toEqual([absent, empty, done])
    })

    test('whose days are over are found when they are complete or failed, those first that ended first', async () => {
      const at = (state: StoredRecording['state'], expiresAtMs: number | null) => make({ state, expiresAtMs })
      const [late, early, failed] = [await at('completed', 30), await at('completed', 10), await at('error', 20)]
      const waiting = [await at('recording', 5), await at('processing', 5), await at('deleting', 5)]
      waiting.push(await at('completed', 31), await at('completed', null))
      const found = (await reads().expired(30, 1000)).map(({ id }) => id)
      const own = new Set([late, early, failed, ...waiting].map(({ id }) => id))
      expect(found.filter((id) => own.has(id))).toEqual([early.id, failed.id, late.id])
      await write((tx) => tx.recordings.delete(early.id))
      expect(await write((tx) => tx.recordings.lock(late.id))).toEqual(late)
    })

    test('that are being deleted are not returned, and then are deleted', async () => {
      const accountId = newAccount()
      const { id } = await make({ accountId, state: 'deleting' })
      expect(await reads().get(accountId, id)).toBeUndefined()
      await write((tx) => tx.recordings.delete(id))
      expect(await write((tx) => tx.recordings.lock(id))).toBeUndefined()
    })
  })
}
