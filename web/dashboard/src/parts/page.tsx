import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { helpAt } from '../navigation.ts'
import { route } from '../router.ts'
import { isolated } from '../words/complete.ts'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'
import './page.css'

interface PageProps {
  readonly title: string
  readonly sub?: ComponentChildren
  /** The page above, with its address. */
  readonly crumb?: { readonly text: string; readonly href: string }
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** The frame of each page: its title, what one can do, and the content. */
export function Page({ title, sub, crumb, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${isolated(title)} · ${words.product}`
  }, [title])
  return (
    <main class="page" id="main" tabIndex={-1}>
      <header class="page-head">
        <div>
          {crumb && (
            <a class="crumb" href={crumb.href}>
              <Icon name="back" isSmall />
              {crumb.text}
            </a>
          )}
          <h1>{title}</h1>
          {sub && <p class="sub">{sub}</p>}
        </div>
        <div class="actions">
          {actions}
          <a class="help" href={helpAt(route.value.path)} target="_blank" rel="noopener">
            {words.frame.help}
          </a>
        </div>
      </header>
      {children}
    </main>
  )
}

interface CardProps {
  readonly title: ComponentChildren
  /** Beside the title: a note or a small button. */
  readonly aside?: ComponentChildren
  readonly foot?: ComponentChildren
  /** The content brings its own space, as a table does. */
  readonly isFlush?: boolean
  readonly children: ComponentChildren
}

export function Card({ title, aside, foot, isFlush = false, children }: CardProps) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {isFlush ? children : <div class="pad stack">{children}</div>}
      {foot && <div class="card-foot">{foot}</div>}
    </section>
  )
}

/** The parts of a place, as links. `href` tells them apart. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string
  readonly tabs: readonly { readonly text: ComponentChildren; readonly href: string }[]
  readonly current: string
}) {
  const nav = useRef<HTMLElement>(null)
  // On a phone the tabs may be wider than the page.
  useEffect(() => {
    const [shown, chosen] = [nav.current, nav.current?.querySelector<HTMLElement>('[aria-current]')]
    if (shown && chosen) shown.scrollLeft = chosen.offsetLeft + chosen.offsetWidth - shown.clientWidth
  }, [current])
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {tabs.map(({ text, href }) => (
        <a key={href} href={href} aria-current={href === current ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}

/** Pairs of a name and a value. */
export function Pairs({
  rows,
}: {
  readonly rows: readonly (readonly [name: ComponentChildren, value: ComponentChildren])[]
}) {
  return (
    <dl class="pairs">
      {rows.map(([name, value], index) => (
        <>
          <dt key={`t${index}`}>{name}</dt>
          <dd key={`d${index}`}>{value}</dd>
        </>
      ))}
    </dl>
  )
}
