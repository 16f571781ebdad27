import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { constantTimeEqual, hmacSha256 } from '../base/crypto.ts'
import type { Context } from '../commands/context.ts'
import type { Mac } from '../core/pages/cursor.ts'
import type { NodeKey } from '../services/cascade.ts'
import type { Keyring } from './keyring.ts'

/** Signs for one purpose, with a key of its own. */
export function macWith(key: Buffer, purpose: string): Mac {
  const derived = derivedKey(key, purpose)
  return (data) => hmacSha256(derived, data)
}

/** A key for one purpose, derived from the sealing key (RFC 5869). */
export const derivedKey = (key: Buffer, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)))

/** What commands get instead of the sealing key. */
export const derivationsOf = (keys: Keyring): Pick<Context, 'sign' | 'signRecordingLink' | 'srtPassphrases'> => ({
  sign: macWith(keys[0], 'sluice list cursors'),
  signRecordingLink: macWith(keys[0], 'sluice recording links'),
  srtPassphrases: srtPassphrasesWith(keys),
})

export const nodeKeysOf = ([sealing, ...others]: Keyring): Context['nodeKeys'] => [
  nodeKey(sealing),
  ...others.map(nodeKey),
]

/** As many bytes in base64url have 32 characters; a passphrase of SRT has 10 to 79. */
const PASSPHRASE_BYTES = 24

function srtPassphrasesWith([sealing, ...others]: Keyring): Context['srtPassphrases'] {
  const passphraseWith = (key: Buffer) => {
    const derived = derivedKey(key, 'sluice srt passphrase')
    return (value: string) => hmacSha256(derived, value).toString('base64url', 0, PASSPHRASE_BYTES)
  }
  const [shown, opening] = [passphraseWith(sealing), others.map(passphraseWith)]
  return (value) => [shown(value), ...opening.map((passphrase) => passphrase(value))]
}

function nodeKey(key: Buffer): NodeKey {
  const signing = derivedKey(key, 'sluice requests of nodes')
  const code = (text: string): string => hmacSha256(signing, text).toString('base64url')
  return {
    code,
    isOf: (text, given) => constantTimeEqual(code(text), given),
    derive: (use) => new Uint8Array(derivedKey(key, `sluice links ${use}`).export()),
  }
}

/** What hashes of viewers begin with: without the key of the installation, no address can be tried. */
export const viewerSeed = (key: Buffer): number => hmacSha256(derivedKey(key, 'sluice viewers'), '').readUInt32BE()

/** Shows servers that a request is from `sluice doctor` of their installation. */
export const doctorKey = (key: Buffer): KeyObject => derivedKey(key, 'sluice doctor')
