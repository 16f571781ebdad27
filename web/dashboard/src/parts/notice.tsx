import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiError } from '../api/call.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import './notice.css'

const ICONS = { info: 'info', ok: 'check', warn: 'warning', error: 'warning' } as const

/** Says what, why, and what to do. */
export function Notice({
  kind = 'info',
  children,
}: {
  readonly kind?: keyof typeof ICONS
  readonly children: ComponentChildren
}) {
  return (
    <p class="notice" data-s={kind === 'info' ? undefined : kind} role={kind === 'error' ? 'alert' : undefined}>
      <Icon name={ICONS[kind]} />
      <span class="grow">{children}</span>
    </p>
  )
}

/** The error of something that a page loads, with a way to try again. */
export function LoadError({ error, onRetry }: { readonly error: ApiError; readonly onRetry: () => void }) {
  /** The error that is being tried again: it stays until there is data or another one. */
  const [tried, setTried] = useState<ApiError | null>(null)
  const retry = (): void => {
    setTried(error)
    onRetry()
  }
  return (
    <Notice kind="error">
      <b>{error.message}</b>{' '}
      <Button size="small" isBusy={tried === error} onClick={retry}>
        {words.parts.tryAgain}
      </Button>
    </Notice>
  )
}

/** The shape of what comes, while it is loaded. */
export function Bones({ rows = 3, isTall = false }: { readonly rows?: number; readonly isTall?: boolean }) {
  return (
    <div class={isTall ? 'pad stack tall' : 'pad stack'} aria-busy="true">
      <span class="sr">{words.parts.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} class={`bone w${(row % 3) + 1}`} />
      ))}
    </div>
  )
}

/** An empty page teaches its next step. */
export function Empty({
  title,
  children,
  action,
}: {
  /** Absent: the page says it above. */
  readonly title?: string
  readonly children: ComponentChildren
  readonly action?: ComponentChildren
}) {
  return (
    <div class="empty">
      {title && <h2>{title}</h2>}
      <p>{children}</p>
      {action && <div class="actions">{action}</div>}
    </div>
  )
}
