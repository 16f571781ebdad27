import { signal } from '@preact/signals'

/** The stream that this browser broadcasts, for the frame of every page; null: none. */
export const onAir = signal<string | null>(null)
