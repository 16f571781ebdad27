import type { Device } from './device.ts'
import type { Grant } from './playback.ts'

// The text of a grant, for tickets: characters of addresses, without secrets.

/** Encodes a restriction that admits no viewer; an empty text encodes no restriction. */
const NO_VIEWER = '-'
const DEVICES = new Map<string, Device>([
  ['d', 'desktop'],
  ['m', 'mobile'],
  ['t', 'tv'],
])

/**
 * Writes a grant: time, key, tracking id, countries, devices, with dots between them. At most 2,250 characters, with a
 * tracking id of 128 characters and all countries. Omits invalid country and device codes, because they match no viewer.
 */
export function writeGrant({ untilMs, keyId, trackingId, countries, devices }: Grant): string {
  const until = untilMs === null ? '' : Math.ceil(untilMs / 1000).toString(36)
  const tracking = Buffer.from(trackingId ?? '').toString('base64url')
  const codes = countries && [...new Set(countries)].filter((code) => /^[A-Z]{2}$/.test(code)).join('')
  const letters =
    devices && [...DEVICES].flatMap(([letter, device]) => (devices.includes(device) ? letter : [])).join('')
  const restrictions = [codes, letters].map((text) => (text === '' ? NO_VIEWER : (text ?? '')))
  return [until, keyId ?? '', tracking, ...restrictions].join('.')
}

/** Reads what `writeGrant` wrote. The text must be proved genuine before. */
export function readGrant(text: string): Grant {
  const [until = '', keyId = '', tracking = '', codes = '', letters = ''] = text.split('.')
  return {
    keyId: keyId === '' ? null : keyId,
    untilMs: until === '' ? null : Number.parseInt(until, 36) * 1000,
    trackingId: tracking === '' ? null : Buffer.from(tracking, 'base64url').toString(),
    countries: codes === '' ? null : (codes.match(/[A-Z]{2}/g) ?? []),
    devices: letters === '' ? null : Array.from(letters, (letter) => DEVICES.get(letter) ?? letter),
  }
}
