import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import type { Random } from './random.ts'

/** Longer passwords are refused before any hashing. */
export const MAX_PASSWORD_BYTES = 1024

const SALT_BYTES = 16
const HASH_BYTES = 32

/** scrypt (RFC 7914): N = 2^costLog2, and 128 * N * blockSize bytes of memory. */
export interface PasswordCost {
  readonly costLog2: number
  readonly blockSize: number
  readonly parallel: number
}

/** 32 MiB in three passes: under half a second on one core, and as costly to guess as one pass over 128 MiB. */
export const PASSWORD_COST: PasswordCost = { costLog2: 15, blockSize: 8, parallel: 3 }

/** The maximum cost of a stored hash, so that a planted one cannot exhaust memory or processor. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024
const MAX_PARALLEL = 8

/** What a hash depends on beside the password. Tests of other things take a lower cost. */
export interface PasswordHashing {
  readonly random: Random
  readonly passwordCost: PasswordCost
}

/**
 * Hashes a password for storage, with its parameters in front: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`.
 * @throws when the password is longer than 1024 bytes; the edge refuses that first
 */
export async function hashPassword(password: string, { random, passwordCost }: PasswordHashing): Promise<string> {
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) throw new Error('the password is too long')
  const salt = random.bytes(SALT_BYTES)
  return format(passwordCost, salt, await derive(password, salt, passwordCost))
}

/** A hash that no password has. To check it costs as much as one that `hashPassword` makes at this cost. */
export const unmatchedHash = (cost: PasswordCost): string =>
  format(cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))

/** Whether `stored` was made from `password`. False for text that is not such a hash. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return false
  const parsed = parse(stored)
  if (parsed === undefined) return false
  return timingSafeEqual(await derive(password, parsed.salt, parsed.cost), parsed.digest)
}

const format = ({ costLog2, blockSize, parallel }: PasswordCost, salt: Buffer, digest: Buffer): string =>
  `$scrypt$ln=${costLog2},r=${blockSize},p=${parallel}$${encode(salt)}$${encode(digest)}`

function parse(stored: string): { cost: PasswordCost; salt: Buffer; digest: Buffer } | undefined {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d)\$([\w-]{22})\$([\w-]{43})$/.exec(stored)
  if (match === null) return undefined
  const [, costLog2, blockSize, parallel, salt = '', digest = ''] = match
  const cost = { costLog2: Number(costLog2), blockSize: Number(blockSize), parallel: Number(parallel) }
  return isAffordable(cost) ? { cost, salt: decode(salt), digest: decode(digest) } : undefined
}

const memoryOf = ({ costLog2, blockSize }: PasswordCost): number => 128 * 2 ** costLog2 * blockSize

const isAffordable = (cost: PasswordCost): boolean =>
  cost.costLog2 >= 1 &&
  cost.blockSize >= 1 &&
  cost.parallel >= 1 &&
  cost.parallel <= MAX_PARALLEL &&
  memoryOf(cost) <= MAX_MEMORY_BYTES

function derive(password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> {
  const options: ScryptOptions = {
    N: 2 ** cost.costLog2,
    r: cost.blockSize,
    p: cost.parallel,
    maxmem: 2 * memoryOf(cost) + 1024 * 1024,
  }
  const bytes = Buffer.from(password.normalize('NFC'), 'utf8')
  return new Promise((resolve, reject) => {
    scrypt(bytes, salt, HASH_BYTES, options, (error, digest) => (error === null ? resolve(digest) : reject(error)))
  })
}

const encode = (bytes: Buffer): string => bytes.toString('base64url')
const decode = (text: string): Buffer => Buffer.from(text, 'base64url')
