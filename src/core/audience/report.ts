import { isoSecond } from '../../base/time.ts'
import { type QualityFigures, shownQuality, startFailuresOf } from '../quality/shown.ts'
import { csvLine } from '../usage/csv.ts'
import type { HourSpan } from '../zonedSlots.ts'
import { type AudienceBy, type AudienceQuestion, seriesSlotsOf, UNKNOWN_VALUES } from './query.ts'
import { addFigures, type AudienceSlot, entryOf, type Figures, noFigures } from './slots.ts'

/** The most values of a division that a report shows. */
const VALUES_MAX = 100

/** Figures as clients read them. */
export interface AudienceFigures {
  readonly views: number
  readonly viewers: number
  readonly watchSeconds: number
  readonly mostAtOnce: number
  /** Absent: no player reported. */
  readonly quality?: QualityFigures
}

export interface AudienceReport {
  readonly from: string
  readonly until: string
  readonly total: AudienceFigures
  readonly before: AudienceFigures & { readonly from: string; readonly until: string }
  /** Absent: no resolution was asked for. */
  readonly series?: readonly (AudienceFigures & { readonly time: string })[]
  readonly by: Partial<Record<AudienceBy, readonly (AudienceFigures & { readonly value: string })[]>>
}

/** What a report is made of. */
export interface AudienceMaterial {
  /** Of the span and of the one before: of the stream, or of the whole account. Hours and days that do not overlap. */
  readonly slots: readonly AudienceSlot[]
  readonly before: readonly AudienceSlot[]
  /** No longer than the slots of the series. */
  readonly series: readonly AudienceSlot[]
  /** Of each stream. */
  readonly streams: readonly AudienceSlot[]
}

/** A report. May pause after each of the slots, whose sketches take time to merge. */
export function* audienceReport(
  question: AudienceQuestion,
  material: AudienceMaterial,
): Generator<void, AudienceReport> {
  const of = figuresOf(question.filter)
  const by: AudienceReport['by'] = {}
  for (const one of question.by) by[one] = yield* dividedBy(one, question, material)
  return {
    ...spanOf(question),
    total: shown(yield* sumOf(material.slots.flatMap(of))),
    before: { ...spanOf(question.before), ...shown(yield* sumOf(material.before.flatMap(of))) },
    ...(question.resolution === null ? {} : { series: yield* seriesOf(question, material.series) }),
    by,
  }
}

const spanOf = ({ fromMs, untilMs }: HourSpan) => ({ from: isoSecond(fromMs), until: isoSecond(untilMs) })

/** The figures of a slot that a filter leaves, none or one. */
const figuresOf =
  (filter: AudienceQuestion['filter']) =>
  ({ all, parts }: AudienceSlot): Figures[] => {
    if (filter === null) return [all]
    const found = parts[filter.dimension].get(filter.value)
    return found === undefined ? [] : [found]
  }

function* sumOf(all: readonly Figures[]): Generator<void, Figures> {
  const sum = noFigures()
  for (const figures of all) {
    addFigures(sum, figures)
    yield
  }
  return sum
}

const shown = ({ views, viewers, watchMs, most, quality }: Figures): AudienceFigures => ({
  views,
  viewers: viewers.estimate(),
  watchSeconds: Math.round(watchMs / 1000),
  mostAtOnce: most,
  ...(quality === null ? {} : { quality: shownQuality(quality) }),
})

function* seriesOf(
  question: AudienceQuestion,
  slots: readonly AudienceSlot[],
): Generator<void, NonNullable<AudienceReport['series']>> {
  const of = figuresOf(question.filter)
  const begins = seriesSlotsOf(question)
  const sums = begins.map(noFigures)
  let at = 0
  for (const slot of slots.toSorted((a, b) => a.atMs - b.atMs)) {
    while ((begins[at + 1] ?? Number.POSITIVE_INFINITY) <= slot.atMs) at++
    const sum = sums[at]
    if (sum) for (const figures of of(slot)) addFigures(sum, figures)
    yield
  }
  return begins.map((ms, index) => ({ time: isoSecond(ms), ...shown(sums[index] ?? noFigures()) }))
}

function* dividedBy(
  by: AudienceBy,
  { filter }: AudienceQuestion,
  { slots, streams }: AudienceMaterial,
): Generator<void, (AudienceFigures & { readonly value: string })[]> {
  const sums = new Map<string, Figures>()
  const of = figuresOf(filter)
  for (const slot of by === 'streamName' ? streams : slots) {
    const divided = by === 'streamName' ? of(slot).map((one) => [slot.streamName, one] as const) : slot.parts[by]
    for (const [value, figures] of divided) addFigures(entryOf(sums, value, noFigures), figures)
    yield
  }
  return [...sums]
    .toSorted(([a, one], [b, other]) => other.watchMs - one.watchMs || (a < b ? -1 : 1))
    .slice(0, VALUES_MAX)
    .map(([value, figures]) => ({ value: value || UNKNOWN_VALUES[by], ...shown(figures) }))
}

/** A row of a report as a table. */
export interface AudienceTableRow extends AudienceFigures {
  /** `total`, `before`, `time`, or what the figures are divided by. */
  readonly part: string
  readonly value: string
}

/** A report as a table: the total, the range before, each time of the series, and each value of each division. */
export const audienceRows = ({ total, before, series = [], by }: AudienceReport): AudienceTableRow[] => [
  { part: 'total', value: '', ...total },
  { part: 'before', value: '', ...before },
  ...series.map((slot) => ({ part: 'time', value: slot.time, ...slot })),
  ...Object.entries(by).flatMap(([part, rows]) => rows.map((row) => ({ part, ...row }))),
]

const COLUMNS = ['part', 'value', 'views', 'viewers', 'watchSeconds', 'mostAtOnce'] as const
/** Cells are empty where no player reported. */
const QUALITY_COLUMNS = [
  'players',
  'started',
  'startSeconds',
  'startSecondsMedian',
  'startSeconds95',
  'playedSeconds',
  'stalls',
  'stalledSeconds',
  'behindSeconds',
  'droppedPercent',
  'switches',
] as const

/** The same as CSV. */
export function audienceCsv(report: AudienceReport): string {
  const lines = audienceRows(report).map((row) =>
    csvLine([...COLUMNS.map((name) => String(row[name])), ...cellsOf(row)]),
  )
  return [[...COLUMNS, ...QUALITY_COLUMNS, 'startFailures'].join(), ...lines, ''].join('\r\n')
}

const cellsOf = ({ quality }: AudienceFigures): string[] => [
  ...QUALITY_COLUMNS.map((name) => String(quality?.[name] ?? '')),
  quality === undefined ? '' : String(startFailuresOf(quality)),
]
