import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressBytes } from '../../../../src/media/relay/wire/address.ts'
import {
  bindingError,
  bindingRequest,
  bindingSuccess,
  isAuthentic,
  looksLikeStun,
  parseBindingRequest,
  parseBindingSuccess,
} from '../../../../src/media/relay/wire/stun.ts'

/** The sample request of RFC 5769 section 2.1. */
const SAMPLE = Buffer.from(
  '000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b151' +
    '263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf',
  'hex',
)
/** The sample responses of RFC 5769 sections 2.2 and 2.3. */
const SAMPLE_PASSWORD = 'VOkJxbRl1RmTxUk/WvJxBt'
const TRANSACTION = Buffer.from('b7e7a701bc34d686fa87dfae', 'hex')

const transactions = fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes))
const words = fc.string({ minLength: 1, maxLength: 40, size: 'max' }).filter((text) => !text.includes(':'))

describe('a binding request', () => {
  it('is read as the sample of RFC 5769 says', () => {
    const request = parseBindingRequest(SAMPLE)
    expect(request).toMatchObject({ localUfrag: 'evtj', remoteUfrag: 'h6vY', priority: 0x6e0001ff, controlled: true })
    expect(request?.transactionId).toEqual(TRANSACTION)
    expect(request !== null && isAuthentic(request, SAMPLE_PASSWORD)).toBe(true)
    expect(request !== null && isAuthentic(request, `${SAMPLE_PASSWORD}.`)).toBe(false)
  })

  it('comes back as it was written', () => {
    const requests = fc.record({
      transactionId: transactions,
      username: fc.tuple(words, words).map((pair) => pair.join(':')),
      password: words,
      priority: fc.nat(0x7fffffff),
      useCandidate: fc.boolean(),
      controlled: fc.boolean(),
    })
    fc.assert(
      fc.property(requests, (wanted) => {
        const read = parseBindingRequest(bindingRequest(wanted))
        expect(read).toMatchObject({
          priority: wanted.priority,
          useCandidate: wanted.useCandidate,
          controlled: wanted.controlled,
        })
        expect(`${read?.localUfrag}:${read?.remoteUfrag}`).toBe(Buffer.from(wanted.username).toString())
        expect(read !== null && isAuthentic(read, wanted.password)).toBe(true)
      }),
    )
  })

  it('of ours was answered with an error by libjuice, which takes a tie breaker of 0 for none', () => {
    const request = bindingRequest({ transactionId: TRANSACTION, username: 'a:b', password: 'c', controlled: true })
    const at = request.indexOf(Buffer.from('80290008', 'hex'))
    expect(request.readBigUInt64BE(at + 4)).toBeGreaterThan(0n)
  })

  it('is refused when any bit of it is flipped, and when it is cut', () => {
    for (let bit = 0; bit < SAMPLE.length * 8; bit++) {
      const copy = Buffer.from(SAMPLE)
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const read = parseBindingRequest(copy)
      expect(read !== null && isAuthentic(read, SAMPLE_PASSWORD)).toBe(false)
    }
    for (let end = 0; end < SAMPLE.length; end++) expect(parseBindingRequest(SAMPLE.subarray(0, end))).toBeNull()
  })
})

describe('a response', () => {
  it('carries an IPv4 address as RFC 5769 section 2.2 has it', () => {
    const response = bindingSuccess(TRANSACTION, '192.0.2.1', 32853, SAMPLE_PASSWORD)
    expect(response.subarray(20, 32).toString('hex')).toBe('002000080001a147e112a643')
    expect(bindingSuccess(TRANSACTION, '::ffff:192.0.2.1', 32853, SAMPLE_PASSWORD)).toEqual(response)
  })

  it('carries an IPv6 address as RFC 5769 section 2.3 has it', () => {
    const response = bindingSuccess(TRANSACTION, '2001:db8:1234:5678:11:2233:4455:6677', 32853, SAMPLE_PASSWORD)
    expect(response.subarray(20, 44).toString('hex')).toBe('002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9')
  })

  it('is read back, and believed only when it is signed by who was asked', () => {
    const response = bindingSuccess(TRANSACTION, '192.0.2.1', 32853, SAMPLE_PASSWORD)
    const read = parseBindingSuccess(response)
    expect(read?.transactionId).toEqual(TRANSACTION)
    expect(read !== null && isAuthentic(read, SAMPLE_PASSWORD)).toBe(true)
    expect(read !== null && isAuthentic(read, 'another')).toBe(false)
    // All but the fingerprint, which is no secret.
    for (let bit = 0; bit < (response.length - 8) * 8; bit++) {
      const copy = Buffer.from(response)
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const forged = parseBindingSuccess(copy)
      expect(forged !== null && isAuthentic(forged, SAMPLE_PASSWORD)).toBe(false)
    }
    for (let end = 0; end < response.length; end++) expect(parseBindingSuccess(response.subarray(0, end))).toBeNull()
    expect(parseBindingSuccess(bindingError(TRANSACTION, 487, 'Role Conflict', SAMPLE_PASSWORD))).toBeNull()
    expect(parseBindingSuccess(SAMPLE)).toBeNull()
  })

  it('is accepted without a fingerprint, which some publishers leave out', () => {
    const whole = bindingSuccess(TRANSACTION, '192.0.2.1', 32853, SAMPLE_PASSWORD)
    const response = Buffer.from(whole.subarray(0, whole.length - 8))
    response.writeUInt16BE(response.length - 20, 2)
    const read = parseBindingSuccess(response)
    expect(read !== null && isAuthentic(read, SAMPLE_PASSWORD)).toBe(true)
  })

  it('is signed over a length that ends with the signature, and closed by a fingerprint', () => {
    const response = bindingError(TRANSACTION, 487, 'Role Conflict', SAMPLE_PASSWORD)
    const at = response.length - 32
    const covered = Buffer.from(response.subarray(0, at))
    covered.writeUInt16BE(at + 24 - 20, 2)
    expect(createHmac('sha1', SAMPLE_PASSWORD).update(covered).digest()).toEqual(response.subarray(at + 4, at + 24))
    expect(response.subarray(20, 28).toString('hex')).toBe('0009001100000457')
    expect(response.readUInt16BE(2)).toBe(response.length - 20)
    expect(looksLikeStun(response)).toBe(true)
    expect(parseBindingRequest(response)).toBeNull()
  })
})

/** A message with these attributes in hexadecimal: `covered`, a right MESSAGE-INTEGRITY, `after`, a right FINGERPRINT. */
function made(covered: string, { after = '', type = '0001', hasFingerprint = true } = {}): Buffer {
  const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
  const withLength = (message: Buffer, end: number): Buffer => {
    message.writeUInt16BE(end - 20, 2)
    return message
  }
  const head = Buffer.concat([bytes(`${type} 0000 2112a442`), TRANSACTION, bytes(covered)])
  const mac = createHmac('sha1', 'secret')
    .update(withLength(head, head.length + 24))
    .digest()
  const whole = Buffer.concat([head, bytes('00080014'), mac, bytes(after)])
  const end = whole.length + (hasFingerprint ? 8 : 0)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE((crc32(withLength(whole, end)) ^ 0x5354554e) >>> 0)
  return hasFingerprint ? Buffer.concat([whole, bytes('80280004'), sum]) : whole
}
const NAME = '00060003 613a6200'

describe('an attribute', () => {
  const read = (covered: string, over = {}) => {
    const request = parseBindingRequest(made(covered, over))
    if (request === null) return null
    const { localUfrag, remoteUfrag, priority, useCandidate, controlled } = request
    expect(isAuthentic(request, 'secret')).toBe(true)
    return { names: `${localUfrag}|${remoteUfrag}`, priority, useCandidate, controlled }
  }
  const plain = { names: 'a|b', priority: null, useCandidate: false, controlled: false }

  it.each<[string, string, object | null]>([
    ['USERNAME alone', NAME, plain],
    ['with nothing after the colon', '00060002 613a0000', { ...plain, names: 'a|' }],
    ['with two colons', '00060005 613a623a 63000000', { ...plain, names: 'a|b:c' }],
    ['with nothing before the colon', '00060002 3a620000', null],
    ['without a colon', '00060002 61620000', null],
    ['USERNAME that is missing', '00240004 00000005', null],
    ['PRIORITY', `${NAME} 00240004 ffffffff`, { ...plain, priority: 0xffffffff }],
    ['PRIORITY of another length', `${NAME} 00240003 00000500`, null],
    ['of any length that is not known', `${NAME} 7f010001 05000000 7f020000 ff030005 01020304 05000000`, plain],
    ['USE-CANDIDATE', `${NAME} 00250000`, { ...plain, useCandidate: true }],
    ['ICE-CONTROLLED', `${NAME} 80290008 00000000 00000001`, { ...plain, controlled: true }],
    ['ICE-CONTROLLING', `${NAME} 802a0008 00000000 00000001`, plain],
    ['that leads out of the message', `${NAME} 7f010400 00000000`, null],
  ])('%s is read as what it is', (_, covered, expected) => expect(read(covered)).toEqual(expected))

  it('behind the signature is not believed', () => {
    const after = '00250000 80290008 00000000 00000001 00240004 00000005 00060003 783a7900'
    expect(read(NAME, { after })).toEqual(plain)
    expect(read(NAME, { after: '00080014' + '00'.repeat(20) })).toEqual(plain)
  })

  it('that must be there, or be the last one, is missed', () => {
    expect(read(NAME, { hasFingerprint: false })).toBeNull()
    const twice = made(NAME, { after: '80280004 00000000' })
    expect(parseBindingRequest(twice)).toBeNull()
    const early = Buffer.concat([made(NAME), Buffer.from('7f010000', 'hex')])
    early.writeUInt16BE(early.length - 20, 2)
    expect(parseBindingRequest(early)).toBeNull()
    const short = Buffer.from(made(NAME).subarray(0, 28))
    short.writeUInt16BE(8, 2)
    expect(parseBindingRequest(short)).toBeNull()
    expect(parseBindingSuccess(made('', { type: '0101', after: '7f010000' }))).not.toBeNull()
    const cut = Buffer.concat([
      made('', { type: '0101' }).subarray(0, 20),
      Buffer.from('0008001000000000', 'hex'),
      Buffer.alloc(12),
    ])
    cut.writeUInt16BE(cut.length - 20, 2)
    expect(parseBindingSuccess(cut)).toBeNull()
  })

  it('USERNAME may have 513 bytes, and a message 1500', () => {
    const named = (bytes: number) => {
      const name = `a:${'b'.repeat(bytes - 2)}`
      const padding = '00'.repeat((4 - (bytes % 4)) % 4)
      return `0006${bytes.toString(16).padStart(4, '0')}${Buffer.from(name).toString('hex')}${padding}`
    }
    expect([read(named(513))?.names.length, read(named(514))]).toEqual([513, null])
    const filled = (bytes: number) =>
      made(`${NAME} 7f01${(bytes - 64).toString(16).padStart(4, '0')}${'00'.repeat(bytes - 64)}`)
    expect([1500, 1504].map((bytes) => [filled(bytes).length, parseBindingRequest(filled(bytes)) !== null])).toEqual([
      [1500, true],
      [1504, false],
    ])
  })
})

describe('what we send', () => {
  it('nominates and claims its role as RFC 8445 lays it out', () => {
    const of = (over: object) =>
      bindingRequest({ transactionId: TRANSACTION, username: 'a:b', password: 'secret', ...over }).toString('hex')
    const begin = (attributes: string) => expect.stringContaining(`00060003613a6200${attributes}00080014`) as string
    expect(of({})).toEqual(begin('0024000400000001'))
    expect(of({ priority: 5, useCandidate: true })).toEqual(begin('002400040000000500250000802a00080101010101010101'))
    expect(of({ controlled: true })).toEqual(begin('0024000400000001802900080000000000000001'))
    expect(of({})).toBe(made(`${NAME} 0024000400000001`).toString('hex'))
  })

  it('has a reason of at most 127 characters, and an address', () => {
    const error = bindingError(TRANSACTION, 399, 'x'.repeat(200), 'secret')
    expect(error.subarray(20, 29).toString('hex')).toBe('000900830000036378')
    expect(() => bindingSuccess(TRANSACTION, 'here', 1, 'secret')).toThrow('not an address')
  })

  it('looks like STUN, and less than a header, other first bytes and other cookies do not', () => {
    const header = Buffer.from(`000100002112a442${'00'.repeat(12)}`, 'hex')
    const changed = (at: number, byte: number) => Buffer.from(header).fill(byte, at, at + 1)
    const all = [header, header.subarray(0, 19), changed(0, 3), changed(0, 4), changed(4, 0), Buffer.alloc(0)]
    expect(all.map(looksLikeStun)).toEqual([true, false, true, false, false, false])
  })
})

describe('addresses', () => {
  it.each([
    ['127.0.0.1', '7f000001'],
    ['::1', '00000000000000000000000000000001'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['::ffff:10.0.0.1', '0a000001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
  ])('%s', (text, hex) => expect(addressBytes(text)?.toString('hex')).toBe(hex))

  it.each(['', '1.2.3', '1.2.3.256', '1:2:3', '1::2::3', '1:2:3:4:5:6:7:8:9', 'g::1', '1.2.3.4:5', '1.2.3.4::'])(
    'not %s',
    (text) => {
      expect(addressBytes(text)).toBeNull()
    },
  )
})
