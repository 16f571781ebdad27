import { describe, expect, it } from 'vitest'
import { AccountUpdates, type NumberedUpdate, type UpdateReader } from '../../src/commands/streams/accountUpdates.ts'
import { streamOnAir as stream } from '../support/streamOnAir.ts'

interface Seen extends UpdateReader {
  got: NumberedUpdate[]
}

function reading(): Seen {
  const got: NumberedUpdate[] = []
  return { accountId: 'a1b2c3', userId: 1, got, send: (update) => got.push(update), end: () => undefined }
}

const names = ({ got }: Seen) => got.map(({ name }) => name)
const many = (viewers: number, label = '') =>
  Array.from({ length: 100 }, (_, at) => stream({ streamName: `${at}`, viewers, tokenLabel: label }))

describe('the updates of an account', () => {
  it('say what was edited, once, however late its transaction commits', () => {
    const [updates, reader] = [new AccountUpdates('e'), reading()]
    updates.add(reader, null)
    updates.streamsAre([], true)
    updates.welcome()
    const edit = (id: number, action: string) => ({ id, action })
    updates.editsAre([edit(7, 'webhook.create')])
    updates.editsAre([edit(9, 'channel.updated'), edit(8, 'publish_token.update'), edit(7, 'webhook.create')])
    updates.editsAre([edit(10, 'channel.updated'), edit(9, 'channel.updated'), edit(6, 'webhook.update')])
    updates.editsAre([edit(11, 'subscribe_token.sign')])
    expect(reader.got.slice(1).map(({ name, json }) => [name, JSON.parse(json)])).toEqual([
      ['edited', { kinds: ['channel', 'publish_token'] }],
      ['edited', { kinds: ['channel', 'webhook'] }],
    ])
  })

  it('say nothing when nothing has changed, and figures only in their turn', () => {
    const [updates, reader] = [new AccountUpdates('e'), reading()]
    updates.add(reader, null)
    updates.streamsAre([stream()], true)
    updates.welcome()
    updates.streamsAre([stream()], true)
    updates.streamsAre([stream({ viewers: 3 })], false)
    expect(names(reader)).toEqual(['reset'])
    updates.streamsAre([stream({ viewers: 4 })], true)
    updates.streamsAre([stream({ viewers: 4, health: 'uneven' })], false)
    expect(reader.got.slice(1).map(({ name, json }) => [name, JSON.parse(json).viewers])).toEqual([
      ['figures', 4],
      ['streamChanged', 4],
    ])
  })

  it('have the bitrate of a target in its turn, and its status at once', () => {
    const [updates, reader] = [new AccountUpdates('e'), reading()]
    const target = { index: 0, label: '', url: 'rtmp://a/b', status: 'live', since: 'then', liveSeconds: 1 } as const
    updates.add(reader, null)
    updates.streamsAre([stream({ restreams: [target] })], true)
    updates.welcome()
    const next = { ...target, liveSeconds: 2, bitrateOut: 1000 }
    updates.streamsAre([stream({ restreams: [next] })], false)
    expect(names(reader)).toEqual(['reset'])
    updates.streamsAre([stream({ restreams: [next] })], true)
    expect(JSON.parse(reader.got.at(-1)?.json ?? '')).toMatchObject({
      streams: [{ restreams: [{ bitrateOut: 1000 }] }],
    })
    updates.streamsAre([stream({ restreams: [{ ...next, status: 'waiting' }] })], false)
    updates.streamsAre([stream()], false)
    expect(names(reader)).toEqual(['reset', 'figures', 'streamChanged', 'streamChanged'])
  })

  it('are kept for readers that come back within bounds of number and size', () => {
    const updates = new AccountUpdates('e')
    updates.streamsAre([], true)
    for (let count = 1; count <= 300; count += 1) updates.streamsAre([stream({ viewers: count })], true)
    const missing = (lastId: string): string[] => {
      const reader = reading()
      updates.add(reader, lastId)
      updates.welcome()
      updates.remove(reader)
      return names(reader)
    }
    // The first of the 301 is the start; one with each count of viewers follows.
    expect(missing('e-301')).toEqual([])
    expect(missing('e-300')).toEqual(['figures'])
    expect(missing(`e-${301 - 256}`)).toHaveLength(256)
    expect(missing(`e-${301 - 257}`)).toEqual(['reset'])
    expect([missing('f-300'), missing('e-302'), missing('e-'), missing('e-1e2')]).toEqual(
      Array.from({ length: 4 }, () => ['reset']),
    )
    // A hundred streams with long labels: some thirty kilobytes for each.
    updates.streamsAre(many(0, 'x'.repeat(20_000)), true)
    expect(missing('e-301')).toEqual(['reset'])
  })

  it('go to a new reader only after its snapshot', () => {
    const [updates, early, late] = [new AccountUpdates('e'), reading(), reading()]
    updates.add(early, null)
    updates.streamsAre([], true)
    updates.welcome()
    updates.add(late, null)
    updates.streamsAre([stream()], false)
    updates.welcome()
    expect([names(early), names(late)]).toEqual([['reset', 'streamStarted'], ['reset']])
    expect(JSON.parse(late.got[0]?.json ?? '')).toMatchObject({ why: 'new', streams: [{ streamName: 'show' }] })
    expect(late.got[0]?.id).toBe(early.got[1]?.id)
  })
})
