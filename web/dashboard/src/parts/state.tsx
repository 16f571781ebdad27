import type { ComponentChildren, JSX } from 'preact'
import './state.css'

/** Each state has a shape, a word and a colour, in this order of importance. `off`: switched off, expired or stopped. */
export type StateKind = 'live' | 'ok' | 'busy' | 'warn' | 'error' | 'idle' | 'off'

const SHAPES: Readonly<Record<StateKind, JSX.Element>> = {
  live: (
    <>
      <circle cx="8" cy="8" r="3.6" fill="currentColor" />
      <circle class="ring" cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="1.2" />
    </>
  ),
  ok: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path
        d="M4.8 8.3l2.2 2.2 4.2-4.6"
        fill="none"
        stroke="var(--surface)"
        stroke-width="1.7"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </>
  ),
  busy: <path d="M8 2a6 6 0 1 1-6 6" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" />,
  warn: (
    <>
      <path d="M8 1.3 15.3 14.5H.7z" fill="currentColor" />
      <path d="M8 6v4M8 12.2v.1" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  error: (
    <>
      <path d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z" fill="currentColor" />
      <path d="M5.5 5.5l5 5M10.5 5.5l-5 5" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round" />
    </>
  ),
  idle: <circle cx="8" cy="8" r="5.8" fill="none" stroke="currentColor" stroke-width="1.7" />,
  off: (
    <>
      <circle cx="8" cy="8" r="5.8" fill="none" stroke="currentColor" stroke-width="1.7" />
      <path d="M4 12 12 4" stroke="currentColor" stroke-width="1.7" />
    </>
  ),
}

/** The shape alone, for a timeline or a row whose text says the state. */
export function Shape({ kind, isSmall = false }: { readonly kind: StateKind; readonly isSmall?: boolean }) {
  const colour = `t-${kind === 'off' ? 'idle' : kind}`
  return (
    <svg class={isSmall ? `${colour} i-s` : colour} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[kind]}
    </svg>
  )
}

interface StateProps {
  readonly kind: StateKind
  /** `pill` stands in a head, `solid` on video. */
  readonly look?: 'plain' | 'pill' | 'solid' | 'dark'
  readonly children: ComponentChildren
}

export function State({ kind, look = 'plain', children }: StateProps) {
  return (
    <span class={look === 'plain' ? 'st' : `st ${look}`} data-s={kind === 'off' ? 'idle' : kind}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {SHAPES[kind]}
      </svg>
      {children}
    </span>
  )
}
