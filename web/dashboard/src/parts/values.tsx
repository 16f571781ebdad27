import { useState } from 'preact/hooks'
import { useEvery } from '../follow.ts'
import { words } from '../words/words.ts'

const { locale } = words
const DAY_MS = 86_400_000

const near = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })
const year = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' })
const whole = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const toSecond = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' })
const second = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
const dayToSecond = new Intl.DateTimeFormat(locale, second)
const exact = new Intl.DateTimeFormat(locale, { ...second, fractionalSecondDigits: 3 })
const plain = new Intl.NumberFormat(locale)
const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 })
const parts = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })

interface TimeProps {
  readonly at: string
  /** Date and time. */
  readonly isWhole?: boolean
  /** With its seconds, for what follows one another within seconds. */
  readonly hasSeconds?: boolean
}

/** A time in the zone of the person who reads; UTC in its title. */
export function Time({ at, isWhole = false, hasSeconds = false }: TimeProps) {
  const date = new Date(at)
  const age = Math.abs(Date.now() - date.getTime())
  const [clock, earlier] = hasSeconds ? [toSecond, dayToSecond] : [near, age < 300 * DAY_MS ? day : year]
  const format = isWhole ? whole : age < DAY_MS ? clock : earlier
  return (
    <time dateTime={at} title={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      {format.format(date)}
    </time>
  )
}

/** A time that tells what has the same name apart. */
export const moment = (at: string): string => exact.format(new Date(at))

/** Names of events may go on in another line, at a capital or behind a full stop. */
export const breakable = (name: string) =>
  name.split(/(?=[A-Z])|(?<=\.)/).flatMap((part, at) => (at === 0 ? [part] : [<wbr key={at} />, part]))

/** A whole number, grouped. */
export const count = (value: number): string => plain.format(value)

/** Seconds and their hundredths; null: a dash. */
export const seconds = (value: number | null): string => (value === null ? '–' : `${parts.format(value)}\u00a0s`)

/** Bytes in decimal units, three digits. No line ends between a figure and its unit. */
export function bytes(value: number): string {
  return scaled(value, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])
}

/** Bits a second in decimal units, three digits. */
export function bitrate(bitsPerSecond: number): string {
  return scaled(bitsPerSecond, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'])
}

function scaled(value: number, units: readonly string[]): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)))
  return `${short.format(value / 1000 ** power)}\u00a0${units[power] ?? ''}`
}

/** A length of time as `1:42:08`, or in days. */
export function duration(seconds: number): string {
  const all = Math.max(0, Math.floor(seconds))
  const [days, hours] = [Math.floor(all / 86_400), Math.floor(all / 3600) % 24]
  if (days > 0) return words.parts.daysAndHours(days, hours)
  const two = (part: number): string => String(part).padStart(2, '0')
  return `${hours}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`
}

/** How long something lasts since `since`, counted each second. */
export function Since({ since }: { readonly since: string }) {
  const [now, setNow] = useState(Date.now())
  useEvery(1000, () => setNow(Date.now()))
  return <span class="num">{duration((now - Date.parse(since)) / 1000)}</span>
}
