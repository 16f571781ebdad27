import { describe, expect, it } from 'vitest'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter, type Source } from '../../../src/media/relay/forward/source.ts'
import { Room } from '../../../src/media/relay/room.ts'
import { Rooms } from '../../../src/media/relay/rooms.ts'

/** No look was late. */
const IN_TIME = { lastedMs: (sinceMs: number, nowMs: number) => nowMs - sinceMs }

const sourceOf = (sessionId: string, sourceId: string | null = null, priority: number | null = null): Source => ({
  sessionId,
  sourceId,
  priority,
  audio: null,
  layers: [],
  profile: null,
})

/** A viewer, and the sessions of the sources that it was shown. */
function viewerOf({ canDecode = true, takes = (_source: Source): boolean => true } = {}) {
  const shown: (string | null)[] = []
  const show = (source: Source | null): boolean => {
    shown.push(source?.sessionId ?? null)
    return source === null || canDecode
  }
  return { shown, show, takes }
}

describe('a room', () => {
  it('shows a viewer the source that it asks for, or the one without an id, or else the first', () => {
    const room = new Room()
    room.addSource(sourceOf('first', 'a'), 0)
    expect([room.source(null)?.sessionId, room.source('b')]).toEqual(['first', undefined])
    room.addSource(sourceOf('second', 'b'), 0)
    room.addSource(sourceOf('main'), 0)
    expect([null, 'a', 'b'].map((id) => room.source(id)?.sessionId)).toEqual(['main', 'first', 'second'])
  })

  it('replaces a source with the same id, and its viewers follow', () => {
    const [room, viewer] = [new Room(), viewerOf()]
    room.addSource(sourceOf('first'), 0)
    room.join('v', viewer, null, 0)
    expect(room.addSource(sourceOf('second'), 10)?.sessionId).toBe('first')
    expect(room.addSource(sourceOf('second'), 20)).toBeUndefined()
    expect(viewer.shown.slice(0, 2)).toEqual(['first', 'second'])
    room.removeSource('first', 30)
    expect([room.isWatched('first'), room.isWatched('second')]).toEqual([false, true])
  })

  it('shows the source of the highest priority, and the next one when it goes or is set aside', () => {
    const [room, viewer] = [new Room(), viewerOf()]
    room.addSource(sourceOf('none'), 0)
    room.join('v', viewer, null, 0)
    for (const [sessionId, priority] of [
      ['low', -3],
      ['high', 7],
      ['middle', 0],
    ] as const)
      expect(room.addSource(sourceOf(sessionId, null, priority), 0)).toBeUndefined()
    expect(viewer.shown).toEqual(['none', 'low', 'high'])
    room.setAside('high', true, 10)
    room.addSource(sourceOf('high', null, 7), 10)
    room.setAside('high', false, 20)
    room.removeSource('high', 30)
    room.removeSource('low', 30)
    expect(viewer.shown.slice(3)).toEqual(['middle', 'high', 'middle'])
    expect(room.addSource(sourceOf('newer', null, 0), 40)?.sessionId).toBe('middle')
    room.setAside('newer', true, 50)
    expect(viewer.shown.slice(6)).toEqual(['newer', 'none'])
    room.removeSource('none', 60)
    expect(viewer.shown.slice(8)).toEqual(['newer'])
  })

  it('shows another form of a source to the viewers who take its codecs, as long as it has video', () => {
    const [room, able, unable] = [
      new Room(),
      viewerOf(),
      viewerOf({ takes: ({ sessionId }) => sessionId !== 'original' }),
    ]
    const layer = {
      rid: '',
      track: new RtpTrack({ kind: 'video', codec: 'av1', rate: 90_000 }, null),
      meter: new BitrateMeter(0),
    }
    const original: Source = { ...sourceOf('original'), layers: [layer] }
    room.prefer(original, 'base', 0)
    expect([room.formsOf(null), room.isEmpty]).toEqual([[], false])
    room.addSource(sourceOf('base'), 0)
    expect(room.formsOf(null).map(({ sessionId }) => sessionId)).toEqual(['original', 'base'])
    room.join('able', able, null, 0)
    room.join('unable', unable, null, 0)
    expect([able.shown, unable.shown]).toEqual([['original'], ['base']])
    expect(['original', 'base', 'none'].map((id) => room.isWatched(id))).toEqual([true, true, false])
    room.prefer(sourceOf('original'), 'base', 10)
    room.prefer(original, 'base', 20)
    room.removeSource('original', 30)
    expect([able.shown.slice(1), unable.shown]).toEqual([['base', 'original', 'base'], ['base']])
    room.prefer(original, 'base', 40)
    room.addSource(sourceOf('newer'), 50)
    room.removeSource('base', 60)
    expect([able.shown.at(-1), unable.shown.at(-1)]).toEqual(['newer', 'newer'])
    for (const id of ['able', 'unable']) room.leave(id)
    room.removeSource('newer', 70)
    expect(room.isEmpty).toBe(true)
  })

  it('shows H.264 beside another codec only to the viewers who lack that', () => {
    const [room, able, unable] = [
      new Room(),
      viewerOf(),
      viewerOf({ takes: ({ sessionId }) => sessionId !== 'published' }),
    ]
    const inCodec = (sessionId: string, codec: 'hevc' | 'h264'): Source => ({
      ...sourceOf(sessionId),
      layers: [
        { rid: '', track: new RtpTrack({ kind: 'video', codec, rate: 90_000 }, null), meter: new BitrateMeter(0) },
      ],
    })
    room.addSource(inCodec('published', 'hevc'), 0)
    room.prefer(inCodec('encoded', 'h264'), 'published', 0)
    room.join('able', able, null, 0)
    room.join('unable', unable, null, 0)
    expect([able.shown, unable.shown]).toEqual([['published'], ['encoded']])
    room.removeSource('published', 10)
    expect([able.shown.at(-1), unable.shown.at(-1), room.formsOf(null)]).toEqual([null, null, []])
  })

  it('lets viewers wait ten seconds for another publisher, and no longer', () => {
    const [room, viewer] = [new Room(), viewerOf()]
    room.addSource(sourceOf('first'), 0)
    room.join('v', viewer, null, 0)
    room.removeSource('first', 1000)
    expect(room.withoutSource(1000 + 10_000, IN_TIME)).toEqual([])
    expect(room.withoutSource(1000 + 10_001, IN_TIME)).toEqual(['v'])
    expect(viewer.shown).toEqual(['first', null])
  })

  it('counts the ten seconds again when the source of a viewer goes again', () => {
    const room = new Room()
    room.addSource(sourceOf('first'), 0)
    room.join('v', viewerOf(), null, 0)
    room.removeSource('first', 1000)
    room.addSource(sourceOf('second'), 9000)
    expect(room.withoutSource(60_000, IN_TIME)).toEqual([])
    room.removeSource('second', 60_000)
    expect(room.withoutSource(70_000, IN_TIME)).toEqual([])
    expect(room.withoutSource(70_001, IN_TIME)).toEqual(['v'])
  })

  it('does not count the time again when another source comes and goes', () => {
    const room = new Room()
    room.addSource(sourceOf('first', 'a'), 0)
    room.join('v', viewerOf(), 'a', 0)
    room.removeSource('first', 1000)
    room.addSource(sourceOf('other', 'b'), 5000)
    room.removeSource('other', 6000)
    expect(room.withoutSource(11_001, IN_TIME)).toEqual(['v'])
  })

  it('gives up at once on a viewer that negotiated no codec of the new source', () => {
    const room = new Room()
    room.addSource(sourceOf('first'), 0)
    room.join('v', viewerOf({ canDecode: false }), null, 0)
    expect(room.withoutSource(0, IN_TIME)).toEqual(['v'])
  })

  it('is empty without sources and viewers, and is forgotten then only', () => {
    const rooms = new Rooms()
    const room = rooms.open('a/show')
    room.addSource(sourceOf('first'), 0)
    room.join('v', viewerOf(), null, 0)
    room.removeSource('first', 0)
    rooms.closeIfEmpty('a/show')
    expect(rooms.open('a/show')).toBe(room)
    expect(rooms.withoutSource(10_001, IN_TIME)).toEqual(['v'])
    room.leave('v')
    rooms.closeIfEmpty('a/show')
    expect(rooms.at('a/show')).toBeUndefined()
  })
})
