import { HOUR_MS } from '../../base/time.ts'
import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'

/** The longest report, bytes. */
export const REPORT_MAX_BYTES = 400

/** Why a player showed no picture although it had a session. */
export const START_FAILURES = [
  'not_connected',
  'connection_lost',
  'ended_by_server',
  'no_answer',
  'not_playable',
  /** The viewer left before. */
  'left',
  'other',
] as const
export type StartFailure = (typeof START_FAILURES)[number]

/** What a player says of its session: sums since the session began, times in milliseconds. */
export interface PlayerReport {
  /** Counts the reports of the session, from 1. */
  readonly n: number
  /** Until the first picture; absent: there was none yet, or the player continued what it had shown before. */
  readonly start?: number
  /** Why there is no picture. */
  readonly failed?: StartFailure
  readonly played: number
  readonly stalls: number
  readonly stalled: number
  readonly frames: number
  readonly dropped: number
  /** Changes between WHEP and HLS. */
  readonly switches: number
  /** Of the picture, now. */
  readonly height?: number
  /** Behind the live edge, now. */
  readonly behind?: number
}

const REQUIRED = ['n', 'played', 'stalls', 'stalled', 'frames', 'dropped', 'switches'] as const
const OPTIONAL = ['start', 'height', 'behind'] as const
const FIELDS: ReadonlySet<string> = new Set([...REQUIRED, ...OPTIONAL, 'failed'])

/** Parses a report. The error is a sentence that names the field. */
export function readPlayerReport(text: string): Result<PlayerReport, string> {
  const fields = parsed(text)
  if (!isObject(fields)) return err('the report must be a JSON object')
  const unknown = Object.keys(fields).find((name) => !FIELDS.has(name))
  if (unknown !== undefined) return err(`${JSON.stringify(unknown.slice(0, 32))} is not a field of a report`)
  for (const name of [...REQUIRED, ...OPTIONAL]) {
    const isMissing = fields[name] === undefined
    if (isMissing && REQUIRED.some((required) => required === name)) return err(`${name} is missing`)
    if (!isMissing && !isCount(fields[name])) return err(`${name} must be a whole number from 0`)
  }
  if (fields['n'] === 0) return err('n must be at least 1')
  const { failed } = fields
  if (failed !== undefined && !START_FAILURES.some((one) => one === failed))
    return err(`failed must be one of ${START_FAILURES.join(', ')}`)
  return ok(fields as unknown as PlayerReport)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/** A player may have begun this long before its session: it tried another protocol first, or had lost its connection. */
const BEFORE_MS = 60_000
/** A shorter pause is no stall. */
const STALL_MIN_MS = 100
const FRAMES_PER_SECOND_MAX = 240
const BEHIND_MAX_MS = HOUR_MS

/** The report within what can be true of a session of this age: no player can have played or stalled for longer. */
export function clampReport(report: PlayerReport, ageMs: number): PlayerReport {
  const mostMs = ageMs + BEFORE_MS
  const frames = Math.min(report.frames, Math.ceil((mostMs / 1000) * FRAMES_PER_SECOND_MAX))
  const stalled = Math.min(report.stalled, mostMs)
  return {
    ...report,
    ...(report.start === undefined ? {} : { start: Math.min(report.start, mostMs) }),
    ...(report.behind === undefined ? {} : { behind: Math.min(report.behind, BEHIND_MAX_MS) }),
    played: Math.min(report.played, ageMs),
    stalls: Math.min(report.stalls, Math.ceil(stalled / STALL_MIN_MS)),
    stalled,
    frames,
    dropped: Math.min(report.dropped, frames),
    switches: Math.min(report.switches, 1 + Math.floor(ageMs / 1000)),
  }
}

/** Pictures are counted by these heights: the highest one that is not above the picture's. */
const HEIGHTS = [2160, 1440, 1080, 720, 480, 360, 240] as const

export const heightOf = (height: number): number => HEIGHTS.find((one) => one <= height) ?? 144
