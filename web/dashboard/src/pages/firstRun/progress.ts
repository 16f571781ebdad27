import { signal } from '@preact/signals'

/** How far the first run has come. Ids only: values of tokens are asked of the server when they are needed. */
export interface Progress {
  readonly accountId: string
  readonly step: 2 | 3 | 4
  /** '' until step 2 has made the token. */
  readonly streamName: string
  readonly publishTokenId: number | null
  /** The token of the viewers' link; null: the stream is open. */
  readonly subscribeTokenId: number | null
  /** Epoch milliseconds. */
  readonly beganAtMs: number
}

const KEY = 'sluice-first-run'

/** Null: it is over, or it was never begun in this browser. */
export const progress = signal<Progress | null>(read())

function read(): Progress | null {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? 'null') as Partial<Progress> | null
    const isWhole = typeof kept?.accountId === 'string' && typeof kept.streamName === 'string'
    return isWhole && [2, 3, 4].includes(kept.step ?? 0) ? (kept as Progress) : null
  } catch {
    return null
  }
}

/** The user goes on here later, also after the browser was closed. */
export function keep(next: Progress): void {
  progress.value = next
  localStorage.setItem(KEY, JSON.stringify(next))
}

export const begin = (accountId: string, nowMs: number): Progress => ({
  accountId,
  step: 2,
  streamName: '',
  publishTokenId: null,
  subscribeTokenId: null,
  beganAtMs: nowMs,
})

export function forget(): void {
  progress.value = null
  localStorage.removeItem(KEY)
}
