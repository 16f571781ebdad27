import { createHmac } from 'node:crypto'
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
const words = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !text.includes(':'))

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

  it('is accepted without a fingerprint, which some encoders leave out', () => {
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

describe('addresses', () => {
  it.each([
    ['127.0.0.1', '7f000001'],
    ['::1', '00000000000000000000000000000001'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['::', '00000000000000000000000000000000'],
    ['::ffff:10.0.0.1', '0a000001'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ])('%s', (text, hex) => expect(addressBytes(text)?.toString('hex')).toBe(hex))

  it.each(['', '1.2.3', '1.2.3.256', '1:2:3', '1::2::3', '1:2:3:4:5:6:7:8:9', 'g::1', '1.2.3.4:5'])(
    'not %s',
    (text) => {
      expect(addressBytes(text)).toBeNull()
    },
  )
})
