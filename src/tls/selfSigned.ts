import { readFileSync, statSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { fileProblem, hasCode } from '../base/errorCode.ts'
import type { Clock } from '../base/clock.ts'
import { writeSecretFile } from '../base/secretFile.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { repeat, type Repetition } from '../base/repeat.ts'
import { err, ok, type Result } from '../base/result.ts'
import { DAY_MS, HOUR_MS } from '../base/time.ts'
import { noticeText } from '../core/notices.ts'
import { renewAtMs, type Validity } from '../core/certificates/renewal.ts'
import { type Certificate, type PemPair, readCertificate } from './certificate.ts'
import type { ServedCertificate } from './served.ts'

interface Means {
  readonly clock: Clock
  readonly random: Random
}

/** Loaded with the first certificate that is made here: its library takes 3 MB, and few servers make one. */
const issuing = (): Promise<typeof import('./issue.ts')> => import('./issue.ts')

const AUTHORITY_DAYS = 3653
/** Phones refuse certificates of more than 825 days, and a stolen one is soon worth nothing. */
const LEAF_DAYS = 90
const TEMPORARY_DAYS = 1 / 24
/** Clocks of phones are not exact. */
const BACKDATED_MS = HOUR_MS
const LOOK_MS = 60_000

const validityOf = (nowMs: number, days: number): Validity => ({
  beginsMs: nowMs - BACKDATED_MS,
  expiresMs: nowMs + days * DAY_MS,
})

/**
 * Reads the authority in `path`, certificate and key in one file that only its owner can read, and makes it first if there
 * is none. Of two processes that start at once, the second takes that of the first.
 */
export async function openAuthority(path: string, { clock, random }: Means): Promise<Result<PemPair, string>> {
  try {
    const found = readAuthority(path)
    if (found !== null) return found
    const name = `Sluice ${hostname()} ${random.bytes(3).toString('hex')}`
    const { cert, key } = await (await issuing()).issueAuthority(name, validityOf(clock.now(), AUTHORITY_DAYS), random)
    writeSecretFile(path, cert + key, random)
    return readAuthority(path) ?? err(`${path} disappeared while it was made`)
  } catch (error) {
    return err(`${path} ${fileProblem(error)}`)
  }
}

/** Reads the authority in `path`. Null: there is no such file. */
export function readAuthority(path: string): Result<PemPair, string> | null {
  const text = textOf(path)
  if (text === null) return null
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    return err(
      `${path} can be read by other users: anyone who has it can impersonate every site to your devices; chmod 600 it`,
    )
  const pair = { cert: blocksOf(text, 'CERTIFICATE'), key: blocksOf(text, 'PRIVATE KEY') }
  const checked = readCertificate(pair)
  return checked.ok ? ok(pair) : err(`the certificate and the key in ${path}: ${noticeText([checked.error])}`)
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

function blocksOf(text: string, label: string): string {
  const blocks = text.match(new RegExp(`-----BEGIN ${label}-----[^-]*-----END ${label}-----`, 'g')) ?? []
  return blocks.map((block) => `${block}\n`).join('')
}

/** A new certificate for these names. */
export async function selfSigned(
  authority: PemPair,
  names: readonly string[],
  { clock, random }: Means,
  days = LEAF_DAYS,
): Promise<Certificate> {
  const issued = await (await issuing()).issueLeaf(authority, names, validityOf(clock.now(), days), random)
  const certificate = readCertificate(issued)
  if (!certificate.ok) throw new Error(`the issued certificate and its key: ${noticeText([certificate.error])}`)
  return certificate.value
}

/** A certificate that no client trusts, for the time until there is a real one. It is for an hour, so that alerts see it expire. */
export async function temporaryCertificate(names: readonly string[], means: Means): Promise<Certificate> {
  const { issueAuthority } = await issuing()
  const authority = await issueAuthority(
    'Sluice, temporary',
    validityOf(means.clock.now(), TEMPORARY_DAYS),
    means.random,
  )
  return selfSigned(authority, names, means, TEMPORARY_DAYS)
}

const NAMES_MAX = 100

/** The names and addresses under which clients may reach this machine now. */
export function namesOfMachine(others: readonly string[]): string[] {
  const host = hostname().toLowerCase()
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.filter(({ scopeid }) => !scopeid).map(({ address }) => address),
  )
  const names = [...others, 'localhost', host, ...(host.includes('.') ? [] : [`${host}.local`]), ...addresses]
  return [...new Set(names.filter((name) => name !== ''))].slice(0, NAMES_MAX)
}

/** Replaces the certificate when two thirds of its lifetime are over, and when this machine has another address. */
export function followMachine(
  authority: PemPair,
  served: ServedCertificate,
  { names, ...means }: Means & { readonly log: Logger; readonly names: () => string[] },
): Repetition {
  let of = names().join(' ')
  return repeat({ ...means, name: 'renew the self-signed certificate', everyMs: LOOK_MS }, async () => {
    const now = names()
    if (now.join(' ') === of && means.clock.now() < renewAtMs(served.current, 0)) return
    served.replace(await selfSigned(authority, now, means))
    of = now.join(' ')
  })
}
