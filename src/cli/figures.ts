import { isoTime } from '../base/time.ts'

const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, useGrouping: false })

/** Bytes for people, in decimal units with three digits: `1.23 MB`. */
export const bytesText = (bytes: number): string => scaled(bytes, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])

/** Bits a second for people: `2.5 Mbit/s`. */
export const bitrateText = (bitsPerSecond: number): string =>
  scaled(bitsPerSecond, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'])

/** Rounds first, so that 999,999 is 1 MB and not 1000 kB. */
function scaled(value: number, units: readonly string[]): string {
  const rounded = Number(value.toPrecision(3))
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, rounded)) / 3))
  return `${short.format(rounded / 1000 ** power)} ${units[power]}`
}

/** Milliseconds for people: `42 ms`, and from a second on as `secondsText`. */
export const millisText = (ms: number): string =>
  Math.abs(ms) < 999.5 ? `${short.format(Math.round(ms))} ms` : secondsText(ms / 1000)

/** A length of time for people: `1.5 s`, and from a minute on as `durationText`. */
export const secondsText = (seconds: number): string =>
  seconds < 59.95 ? `${short.format(seconds)} s` : durationText(Math.round(seconds) * 1000)

/** `0.5%` */
export const percentText = (percent: number): string => `${short.format(percent)}%`

/** A sample rate for people: `44.1 kHz`. */
export const hertzText = (hertz: number): string => scaled(hertz, ['Hz', 'kHz', 'MHz'])

/** A moment in UTC: its time if it is of the same day as `nowMs`, else its date and minute. @param iso as of `isoTime` */
export function timeText(iso: string, nowMs: number): string {
  const [day = '', time = ''] = iso.split('T')
  return day === isoTime(nowMs).slice(0, day.length) ? time.slice(0, 8) : `${day} ${time.slice(0, 5)}`
}

/** A length of time as `1:42:08`, or in days and hours. Clocks of two machines may differ, so a negative one is 0. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24]
  if (days > 0) return `${days} d ${hours} h`
  const two = (part: number): string => String(part).padStart(2, '0')
  return `${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
