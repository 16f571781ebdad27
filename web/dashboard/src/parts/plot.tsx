import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { shownTheme } from '../theme.ts'
import { Bones } from './notice.tsx'
import { axisDays, axisTime, DAY_SECONDS, type Step, stepOf, wholeTime } from './plotTimes.ts'
import { words } from '../words/words.ts'
import type uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import './plot.css'

export interface Line {
  readonly label: string
  /** The first or the second of the plot colours; `plot.css` has the same for the legend. */
  readonly colour: 1 | 2
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  /** One sentence that says what the plot shows. */
  readonly sentence: string
  /** Epoch seconds, ascending. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
}

/** Between two times of the axis, where each value is that of a day: there is nothing to see at noon. */
const DAYS = [1, 2, 7, 14, 28].map((days) => days * DAY_SECONDS)
/** A time with seconds needs these pixels on the axis. */
const TIME_PIXELS = 64
/** Shown before and after a value that is the only one. */
const AROUND_SECONDS = 300
/** Between two values of the axis, where all are whole numbers. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()
const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3], [3, 3], [10, 4]]

/** Lines over time. The library is loaded when the first plot is shown; a table of the same values stands behind it. */
export function Plot({ sentence, times, lines, format }: PlotProps) {
  const root = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
  const latest = useRef(data)
  latest.current = data
  const pointed = useSignal<number | null>(null)
  const step = stepOf(times)
  useEffect(() => {
    let isGone = false
    void loadPlots().then((Plots) => {
      if (!isGone && root.current)
        plot.current = new Plots(
          optionsOf(root.current, { lines, format, step, pointed }),
          latest.current,
          root.current,
        )
    })
    const fit = new ResizeObserver(() => {
      if (root.current && plot.current) plot.current.setSize(sizeOf(root.current))
    })
    if (root.current) fit.observe(root.current)
    return () => {
      isGone = true
      fit.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [shownTheme.value, lines.map(({ label }) => label).join(), step])
  useEffect(() => plot.current?.setData(latest.current), [data])
  return (
    <>
      <div class="plot-box">
        <div class="plot-canvas" ref={root} role="img" aria-label={sentence} />
        <Pointed pointed={pointed} times={times} lines={lines} format={format} step={step} />
      </div>
      <details class="as-table">
        <summary>{words.parts.asTable}</summary>
        <ValuesTable sentence={sentence} times={times} lines={lines} format={format} step={step} />
      </details>
    </>
  )
}

type Shown = PlotProps & { readonly step: Step }

/** The values at the pointer. The table has them for others. */
function Pointed({
  pointed,
  times,
  lines,
  format,
  step,
}: Omit<Shown, 'sentence'> & { readonly pointed: Signal<number | null> }) {
  const at = pointed.value
  const time = at === null ? undefined : times[at]
  if (at === null || time === undefined) return null
  const values = lines.map(({ label, values }) => `${label}: ${textOf(values[at], format)}`)
  return (
    <p class="plot-pointed" aria-hidden="true">
      <b>{wholeTime(time, step)}</b> {values.join(' · ')}
    </p>
  )
}

const textOf = (value: number | null | undefined, format: PlotProps['format']): string =>
  typeof value === 'number' ? format(value) : '–'

function ValuesTable({ sentence, times, lines, format, step }: Shown) {
  if (times.length === 0) return <Bones rows={1} />
  return (
    <div class="table">
      <table>
        <caption class="sr">{sentence}</caption>
        <thead>
          <tr>
            <th scope="col">{words.parts.time}</th>
            {lines.map(({ label }) => (
              <th key={label} scope="col" class="n">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, row) => (
            <tr key={time}>
              <td>{wholeTime(time, step)}</td>
              {lines.map(({ label, values }) => (
                <td key={label} class="n">
                  {textOf(values[row], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const loadPlots = (): Promise<typeof uPlot> => import('uplot').then((module) => module.default)

const sizeOf = ({ clientWidth, clientHeight }: HTMLElement): { width: number; height: number } => ({
  width: Math.max(120, clientWidth),
  height: Math.max(100, clientHeight || 160),
})

/** A value between two that are not known is on no line: it is a point. */
const alone: uPlot.Series.Points.Filter = ({ data }, line) => {
  const values = data[line] ?? []
  const isMissing = (at: number): boolean => (values[at] ?? null) === null
  return Array.from(values, (_, at) => at).filter((at) => !isMissing(at) && isMissing(at - 1) && isMissing(at + 1))
}

const isWhole = ({ values }: Line): boolean => values.every((value) => value === null || Number.isInteger(value))

function optionsOf(
  root: HTMLElement,
  { lines, format, step, pointed }: Omit<Shown, 'times' | 'sentence'> & { readonly pointed: Signal<number | null> },
): uPlot.Options {
  const style = getComputedStyle(root)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--plot-label'),
    grid: { stroke: colour('--plot-grid'), width: 1 },
    ticks: { show: false },
  }
  return {
    ...sizeOf(root),
    // Half of the last time of the axis is beside the plot.
    padding: [null, TIME_PIXELS / 2, null, null],
    legend: { show: false },
    cursor: { y: false },
    hooks: { setCursor: [({ cursor }) => (pointed.value = cursor.idx ?? null)] },
    scales: {
      // Around a single value uPlot would show years.
      x: {
        range: ({ data: [at] }, min, max) =>
          at.length === 1 ? [min - AROUND_SECONDS, min + AROUND_SECONDS] : [min, max],
      },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        space: TIME_PIXELS,
        ...(step === 'day' && {
          incrs: DAYS,
          splits: ({ data: [at] }, _axis, _min, _max, apart) => axisDays(at, apart),
        }),
        values: (_, splits, __, ___, increment) => splits.map((time) => axisTime(time, increment)),
      },
      {
        ...axis,
        size: 72,
        ...(lines.every(isWhole) && { incrs: WHOLE }),
        values: (_, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: number }) => ({
        label,
        stroke: colour(`--plot-${number}`),
        width: 1.6,
        dash: DASHES[number - 1] ?? [],
        points: { show: true, size: 4, filter: alone },
      })),
    ],
  }
}
