import { Counter, Gauge } from 'prom-client'
import type { Tally } from '../../../base/tally.ts'

/** The values of a metric's labels, in their order, and its value with them. */
export type LabelledValue = readonly [labels: readonly string[], value: number]

/** What a tally counts, by the words of its kinds. */
export const tallied = (tally: Tally): LabelledValue[] =>
  [...tally].map(([kind, count]): LabelledValue => [kind.split(' '), count])

/** A counter whose value another object holds. */
export function counter(
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly LabelledValue[],
): Counter {
  return new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect() {
      this.reset()
      for (const [labels, value] of read()) this.inc(labelled(labelNames, labels), value)
    },
  })
}

/** A gauge whose value another object holds. */
export function gauge(
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly LabelledValue[],
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect() {
      this.reset()
      for (const [labels, value] of read()) this.set(labelled(labelNames, labels), value)
    },
  })
}

const labelled = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))
