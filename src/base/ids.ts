import type { Random } from './random.ts'

/** In ASCII order, so that ids of the same length sort like their numbers. No 0, O, I, l. */
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** 58^22 is the first power above 2^128. */
const ID_LENGTH = 22
const RANDOM_BITS = 80n
const MAX_ID = 2n ** 128n - 1n

/** The last id of each random source. A process has one source, a test brings its own. */
const lastIds = new WeakMap<Random, bigint>()

/**
 * A unique id of 22 base58 characters that sorts by time: 48 bits of milliseconds, then 80 random bits. Ids of one
 * process always increase. Within one millisecond, or after the clock steps back, the next id is the last one plus
 * one.
 */
export function timeOrderedId(nowMs: number, random: Random): string {
  const fresh = (BigInt(Math.floor(nowMs)) << RANDOM_BITS) | BigInt(`0x${random.bytes(10).toString('hex')}`)
  const last = lastIds.get(random) ?? -1n
  const id = fresh >> RANDOM_BITS > last >> RANDOM_BITS ? fresh : last + 1n
  if (id > MAX_ID) throw new Error(`no id for the time ${nowMs}`)
  lastIds.set(random, id)
  return base58(id)
}

/** Epoch milliseconds: when an id of `timeOrderedId` was made. */
export function timeOfId(id: string): number {
  let value = 0n
  for (const character of id) value = value * 58n + BigInt(BASE58.indexOf(character))
  return Number(value >> RANDOM_BITS)
}

/** Checks the form of an id. Text of another form names nothing and never reaches the store. */
export const isTimeOrderedId = (text: string): boolean => /^[1-9A-HJ-NP-Za-km-z]{22}$/.test(text)

/** No id of this millisecond or a later one sorts before it. */
export const firstIdOf = (ms: number): string => base58(BigInt(Math.max(0, Math.floor(ms))) << RANDOM_BITS)

/** The kind of object that an id of the channels API names. */
export type IdPrefix = 'ch' | 'in' | 'en' | 'di' | 'sc' | 'wh' | 'lg' | 'rn' | 'ab' | 'ke' | 'sl'

/** A time-ordered id with its kind as prefix: `ch_` and 22 characters. */
export const prefixedId = (prefix: IdPrefix, nowMs: number, random: Random): string =>
  `${prefix}_${timeOrderedId(nowMs, random)}`

function base58(value: bigint): string {
  let text = ''
  for (let rest = value; text.length < ID_LENGTH; rest /= 58n) text = BASE58.charAt(Number(rest % 58n)) + text
  return text
}

/** A random UUID (RFC 9562, version 4). */
export function uuid(random: Random): string {
  const bytes = random.bytes(16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const LETTERS_AND_DIGITS = `${LETTERS}0123456789`

/**
 * An account id: 6 lower-case letters and digits. The first is a letter, so that no program reads the id as a
 * number.
 */
export const accountId = (random: Random): string =>
  pick(LETTERS, random) + Array.from({ length: 5 }, () => pick(LETTERS_AND_DIGITS, random)).join('')

/**
 * One random character. Bytes past the last whole multiple of the alphabet are dropped, so that all characters are
 * equally likely.
 */
function pick(alphabet: string, random: Random): string {
  const fair = 256 - (256 % alphabet.length)
  for (let attempt = 0; attempt < 128; attempt++) {
    const byte = random.bytes(1).readUInt8()
    if (byte < fair) return alphabet.charAt(byte % alphabet.length)
  }
  throw new Error('the source of randomness is broken')
}
