import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

const TYPES = ['rtmp-push', 'srt-pull', 'srt://a.example.com:1', 'ab_\u0000', 'in_\u0000', 'local', '\ud800', 'x']
const leaf = fc.oneof(
  fc.constantFrom(...TYPES),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
)
const WORDS =
  'name externalIds externalId timeout ingests engines distributions type url region ingestId quality abrLadderId priority ' +
  'enabled security geoBlocking countries keys key endpoints engineIds video width height bitrate audio maxBitrate latencies hls'
const names = fc.constantFrom(...WORDS.split(' '))
const { body } = fc.letrec((tie) => ({
  body: fc.dictionary(names, fc.oneof({ maxDepth: 4 }, leaf, tie('body'), fc.array(tie('body'), { maxLength: 2 })), {
    maxKeys: 6,
  }),
}))

/** Bodies with a name pass validation more often, and so reach the store. */
const named = fc
  .tuple(body, fc.string({ minLength: 1, maxLength: 9 }))
  .map(([rest, name]) => ({ ...(rest as object), name }))

describe.each(testedStores())('on %s', (engine) => {
  let live: ChannelsClient
  let paths: [method: string, path: string][] = []
  let place: Place
  beforeAll(async () => {
    place = await newPlace(engine)
    live = await runChannels({ flags: { storage: { url: place.url } } })
    const engines = [{ name: 'e' }]
    const made = await live.made('POST', '/channels', {
      name: 'c',
      ingests: [{ name: 'i', type: 'rtmp-push', engines }],
      distributions: [{ name: 'd' }],
    })
    paths = [
      ['POST', '/channels'],
      ['PATCH', `/channels/${made.id}`],
      ['POST', `/channels/${made.id}/ingests`],
      ['PATCH', `/ingests/${made.ingests[0].id}`],
      ['POST', `/channels/${made.id}/engines`],
      ['PATCH', `/engines/${made.engines[0].id}`],
      ['POST', `/channels/${made.id}/distributions`],
      ['PATCH', `/distributions/${made.distributions[0].id}`],
      ['POST', `/distributions/${made.distributions[0].id}/security/keys`],
      ['POST', '/abr'],
    ]
  })
  afterAll(async () => {
    await live.close()
    await place.remove()
  })

  it('no body causes a 500: each is accepted, or refused with the reason', async () => {
    const requests = fc.tuple(fc.nat(), fc.oneof(body, named, named))
    await fc.assert(
      fc.asyncProperty(requests, async ([index, sent]) => {
        const [method, path] = paths[index % paths.length] ?? ['POST', '/channels']
        const { status, json } = await live.v2(method, path, sent)
        expect([200, 400, 409]).toContain(status)
        if (status !== 200) expect(json).toMatchObject({ code: expect.any(String), message: expect.any(String) })
      }),
      { numRuns: 100 },
    )
  })
})
