import { expect, test } from 'vitest'
import { readTarget } from '../../../src/media/rtmp/commands.ts'
import { readDestination } from '../../../src/edge/rtmp/address.ts'

const destinationOf = (app: string, name: string) => {
  const [one, other] = [readTarget(app), readTarget(name)]
  const query = new URLSearchParams([other.query, one.query].filter((part) => part !== '').join('&'))
  return readDestination({ app: one.path, name: other.path, query })
}

test('an address that is pasted with blanks around it means the same', () => {
  expect(readTarget(' \t/live/key \r\n')).toEqual({ path: 'live/key', query: '' })
  expect(destinationOf('live ', ' sk_1\u00a0')).toEqual({ kind: 'key', key: 'sk_1' })
  expect(destinationOf('v2/pub', ' show ?token=abc\n')).toMatchObject({ streamName: 'show', presented: 'abc' })
})

test('an empty stream key leaves no slash behind the name', () => {
  for (const name of ['', '/', ' ']) {
    expect(destinationOf('v2/pub/show?token=abc', name)).toMatchObject({ streamName: 'show', presented: 'abc' })
    expect(destinationOf('live/sk_1', name)).toEqual({ kind: 'key', key: 'sk_1' })
    expect(destinationOf('v2/pub', name)).toMatchObject({ kind: 'none' })
  }
})

test('the token may be called t, in hexadecimal digits or as its bytes in base64url', () => {
  const hex = 'f8'.repeat(31) + '3e'
  const short = Buffer.from(hex, 'hex').toString('base64url')
  for (const query of [`token=${hex}`, `t=${hex}`, `t=${short}`, `token=${hex}&t=other`])
    expect(destinationOf('v2/pub', `show?${query}&noRecord&norestream&fps=3`)).toMatchObject({
      presented: hex,
      parameters: { record: false, noRestream: true, unknown: ['fps'] },
    })
})

test('a parameter that cannot be had is the reason of the refusal', () => {
  expect(destinationOf('v2/pub', 'show?token=abc&intraOnlyForwarding')).toEqual({
    kind: 'none',
    of: { presented: 'abc', streamName: 'show' },
    why: 'intraOnlyForwarding is not supported: viewers get every picture',
  })
})

test('simulcastId names a source, and sourceId the layer of it', () => {
  const read = (query: string) => destinationOf('v2/pub', `show?token=abc&${query}`)
  expect(read('sourceId=1&simulcastId')).toMatchObject({ sourceId: null, layer: { name: '1', isMain: true } })
  expect(read('simulcastId=stage')).toMatchObject({ sourceId: 'stage', layer: { name: '', isMain: true } })
  for (const switched of ['videoOnly', 'noAudio'])
    expect(read(`sourceId=2&simulcastId=stage&${switched}`)).toMatchObject({
      sourceId: 'stage',
      layer: { name: '2', isMain: false },
    })
  expect(read('simulcastId&videoOnly')).toMatchObject({ why: 'simulcastId with videoOnly needs sourceId' })
  for (const name of ['a.b', 'a'.repeat(33)])
    expect(read(`simulcastId&sourceId=${name}`)).toMatchObject({
      why: 'sourceId with simulcastId must have at most 32 letters, digits, - and _',
    })
  expect(read('sourceId=1&videoOnly')).not.toHaveProperty('layer')
})
