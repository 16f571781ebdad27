import { createCipheriv } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { counterOf, StreamKeys } from '../../../src/media/srt/keys.ts'
import { keyMessage, randomKeys } from './caller.ts'

const PASSPHRASE = 'a-passphrase-of-10-to-79'

function encrypted(body: Buffer, key: Buffer, salt: Buffer, sequence: number): Buffer {
  return createCipheriv(`aes-${key.length * 8}-ctr`, key, counterOf(salt, sequence)).update(body)
}

describe.each([16, 24, 32] as const)('keys of %d bytes', (keyBytes) => {
  test('open with the passphrase, and decrypt what is encrypted with them', async () => {
    const keys = randomKeys(keyBytes)
    const opened = await StreamKeys.open(keyMessage(PASSPHRASE, keys, 1), PASSPHRASE)
    const body = Buffer.from('188 bytes')
    expect(opened?.keyBits).toBe(keyBytes * 8)
    expect(opened?.decrypt(encrypted(body, keys.even, keys.salt, 77), 1, 77)).toEqual(body)
    expect(opened?.decrypt(body, 2, 77)).toBeNull()
  })

  test('stay closed to another passphrase', async () => {
    expect(await StreamKeys.open(keyMessage(PASSPHRASE, randomKeys(keyBytes), 3), 'another-passphrase')).toBeNull()
  })

  test('are refreshed in turns; a message of another passphrase changes nothing', async () => {
    const [first, second] = [randomKeys(keyBytes), randomKeys(keyBytes)]
    const keys = await StreamKeys.open(keyMessage(PASSPHRASE, first, 1), PASSPHRASE)
    const body = Buffer.from('188 bytes')
    expect(await keys?.refresh(keyMessage('another-passphrase', second, 2))).toBe(false)
    expect(keys?.decrypt(body, 2, 5)).toBeNull()
    expect(await keys?.refresh(keyMessage(PASSPHRASE, second, 2))).toBe(true)
    expect(keys?.decrypt(encrypted(body, second.odd, second.salt, 5), 2, 5)).toEqual(body)
    expect(keys?.decrypt(encrypted(body, first.even, first.salt, 5), 1, 5)).toEqual(body)
  })
})

test('a refresh with a longer key is refused', async () => {
  const keys = await StreamKeys.open(keyMessage(PASSPHRASE, randomKeys(16), 1), PASSPHRASE)
  expect(await keys?.refresh(keyMessage(PASSPHRASE, randomKeys(32), 2))).toBe(false)
})

test('a message that is cut, too long or of another cipher opens nothing', async () => {
  const message = keyMessage(PASSPHRASE, randomKeys(16), 1)
  const changed = (at: number, byte: number) => Buffer.from(message.map((old, index) => (index === at ? byte : old)))
  const others = [changed(0, 0x11), changed(3, 0), changed(8, 3), changed(14, 255), changed(15, 255), changed(15, 5)]
  const cut = [0, 15, 31, 40, message.length - 1].map((length) => message.subarray(0, length))
  for (const bytes of [...others, ...cut, Buffer.concat([message, Buffer.alloc(8)])]) {
    expect(await StreamKeys.open(bytes, PASSPHRASE)).toBeNull()
  }
})
