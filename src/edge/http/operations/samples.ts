import { Counter, Gauge, type Registry } from 'prom-client'
import type { Tally } from '../../../base/tally.ts'

/** The values of a metric's labels, in their order, and its value with them. */
export type LabelledValue = readonly [labels: readonly string[], value: number]

/** Reads the values of a metric; a number is that of one without labels. */
type Read = () => readonly LabelledValue[] | number

type Sample = [name: string, help: string, labelNames: readonly string[], read: Read]

/** What a tally counts, by the words of its kinds. */
export const tallied = (tally: Tally): LabelledValue[] =>
  [...tally].map(([kind, count]): LabelledValue => [kind.split(' '), count])

/** Adds metrics to a registry whose values other objects hold. They are read at each scrape. */
export class Samples {
  readonly registry: Registry

  constructor(registry: Registry) {
    this.registry = registry
  }

  counter(...sample: Sample): void {
    this.#add(Counter, sample)
  }

  gauge(...sample: Sample): void {
    this.#add(Gauge, sample)
  }

  #add(Metric: typeof Counter | typeof Gauge, [name, help, labelNames, read]: Sample): void {
    this.registry.registerMetric(
      new Metric({
        name,
        help,
        labelNames: [...labelNames],
        registers: [],
        collect() {
          this.reset()
          for (const [labels, value] of valuesOf(read)) this.inc(labelled(labelNames, labels), value)
        },
      }),
    )
  }
}

function valuesOf(read: Read): readonly LabelledValue[] {
  const values = read()
  return typeof values === 'number' ? [[[], values]] : values
}

const labelled = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))
