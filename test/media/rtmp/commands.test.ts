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
  expect(destinationOf('v2/pub', 'show?token=abc&simulcastId=high')).toEqual({
    kind: 'none',
    of: { presented: 'abc', streamName: 'show' },
    why: 'simulcastId is not supported: send the layers of a picture as simulcast over WHIP or as tracks over enhanced RTMP',
  })
})
