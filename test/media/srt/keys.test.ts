import { createCipheriv } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { counterOf, SendingKeys, StreamKeys } from '../../../src/media/srt/keys.ts'
import { keyMessage, randomKeys } from './caller.ts'

const PASSPHRASE = 'a-passphrase-of-10-to-79'

function encrypted(body: Buffer, key: Buffer, salt: Buffer, sequence: number): Buffer {
  return createCipheriv(`aes-${key.length * 8}-ctr`, key, counterOf(salt, sequence)).update(body)
}

/** Null: there is no such key. */
function decrypted(keys: StreamKeys | null, body: Buffer, which: number, sequence: number): Buffer | null {
  const copy = Buffer.from(body)
  return keys?.decrypt(copy, which, sequence) === true ? copy : null
}

describe.each([16, 24, 32] as const)('keys of %d bytes', (keyBytes) => {
  test('open with the passphrase, and decrypt what is encrypted with them', async () => {
    const keys = randomKeys(keyBytes)
    const opened = await StreamKeys.open(keyMessage(PASSPHRASE, keys, 1), PASSPHRASE)
    const body = Buffer.from('188 bytes')
    expect(opened?.keyBits).toBe(keyBytes * 8)
    expect(decrypted(opened, encrypted(body, keys.even, keys.salt, 77), 1, 77)).toEqual(body)
    expect(decrypted(opened, body, 2, 77)).toBeNull()
  })

  test('stay closed to another passphrase', async () => {
    expect(await StreamKeys.open(keyMessage(PASSPHRASE, randomKeys(keyBytes), 3), 'another-passphrase')).toBeNull()
  })

  test('are refreshed in turns; a message of another passphrase changes nothing', async () => {
    const [first, second] = [randomKeys(keyBytes), randomKeys(keyBytes)]
    const keys = await StreamKeys.open(keyMessage(PASSPHRASE, first, 1), PASSPHRASE)
    const body = Buffer.from('188 bytes')
    expect(await keys?.refresh(keyMessage('another-passphrase', second, 2))).toBe(false)
    expect(decrypted(keys, body, 2, 5)).toBeNull()
    expect(await keys?.refresh(keyMessage(PASSPHRASE, second, 2))).toBe(true)
    expect(decrypted(keys, encrypted(body, second.odd, second.salt, 5), 2, 5)).toEqual(body)
    expect(decrypted(keys, encrypted(body, first.even, first.salt, 5), 1, 5)).toEqual(body)
  })
})

test.each([
  ['one packet', 77, 1],
  ['whole blocks alone', 1328, 1],
  ['as many packets as are encrypted at once', 64 * 1332, 64],
  ['one more, and a short one', 65 * 1332 + 16 + 3, 66],
])('a run of %s is encrypted as each packet would be, and its heads stay clear', async (_, bytes, packets) => {
  const first = 0x7fff_fff0
  const keys = await SendingKeys.make(PASSPHRASE, 32, systemRandom)
  const reader = await StreamKeys.open(keys.message, PASSPHRASE)
  const plain = Buffer.from(Array.from({ length: bytes }, (_unused, at) => (at * 7) % 256))
  // In words, and in memory that begins anywhere.
  for (const offset of [0, 3]) {
    const run = Buffer.concat([Buffer.alloc(offset), plain]).subarray(offset)
    keys.encrypt(run.subarray(16), first, { bodyBytes: 1316, everyBytes: 1332 })
    for (let index = 0; index < packets; index++) {
      const [was, is] = [plain, run].map((all) => all.subarray(index * 1332, (index + 1) * 1332)) as [Buffer, Buffer]
      expect(is.subarray(0, 16)).toEqual(was.subarray(0, 16))
      expect(is.subarray(16)).not.toEqual(was.subarray(16))
      expect(decrypted(reader, is.subarray(16), 1, (first + index) & 0x7fff_ffff)).toEqual(was.subarray(16))
    }
  }
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
