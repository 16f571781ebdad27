import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { onAir } from '../../onAir.ts'
import { Icon } from '../../parts/icon.tsx'
import { session } from '../../session.ts'
import { chooseTheme, otherTheme } from '../../theme.ts'
import { chooseLanguage, LANGUAGES, otherLanguages } from '../../words/language.ts'
import { words } from '../../words/words.ts'
import './firstRun.css'

const text = words.firstRun

export type Step = 1 | 2 | 3 | 4

/** The frame of the first run: no navigation, the four steps, and where one is. */
export function Solo({ step, title, lead, children }: Heading & { readonly step: Step }) {
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${title} · ${words.product}`
  }, [title])
  useEffect(() => {
    // The first step begins with typing. The others begin with reading, also for screen readers.
    const first = step === 1 ? main.current?.querySelector('input') : main.current
    // From its top, with all that is above it.
    first?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [step])
  return (
    <div class="solo">
      <header>
        <span class="brand">
          <img src="./sluice.svg" alt="" width="30" height="30" />
          <span>
            <b>{words.product}</b>
            <span>{text.firstStart}</span>
          </span>
        </span>
        <span class="actions">
          <Languages />
          <Theme />
        </span>
      </header>
      <main class="setup" id="main" tabIndex={-1} ref={main}>
        <Steps current={step} />
        <div class="stack gap-l">
          <div>
            <h1>{title}</h1>
            <p class="lead">{lead}</p>
          </div>
          {children}
        </div>
      </main>
      <Foot />
    </div>
  )
}

interface Heading {
  readonly title: string
  readonly lead: string
  readonly children: ComponentChildren
}

/** Not while the browser broadcasts: the page starts again. */
function Languages() {
  if (onAir.value !== null) return null
  return otherLanguages().map((one) => (
    <Button key={one} look="quiet" size="small" icon="globe" onClick={() => chooseLanguage(one)}>
      <span lang={one}>{LANGUAGES[one]}</span>
    </Button>
  ))
}

function Theme() {
  const { value: next } = otherTheme
  return (
    <Button look="quiet" size="small" icon="theme" onClick={() => chooseTheme(next)}>
      {words.frame.theme[next]}
    </Button>
  )
}

function Steps({ current }: { readonly current: Step }) {
  return (
    <ol class="steps" aria-label={text.steps}>
      {text.stepNames.map(({ name, note }, index) => (
        <li
          key={name}
          class={index + 1 < current ? 'done' : ''}
          aria-current={index + 1 === current ? 'step' : undefined}
        >
          <span>{index + 1 < current ? <Done /> : index + 1}</span>
          <span>
            <b>{name}</b>
            <small>{note}</small>
          </span>
        </li>
      ))}
    </ol>
  )
}

const Done = () => (
  <>
    <Icon name="check" isSmall />
    <span class="sr">{text.done}</span>
  </>
)

function Foot() {
  const { value } = session
  const version = value.kind === 'signedIn' ? ` ${value.session.version}` : ''
  return (
    <footer>
      <span>
        {words.product}
        {version}
      </span>
      <span>
        <a href="../docs/" target="_blank" rel="noopener">
          {words.frame.help}
        </a>
        . {text.byCommand} <code>sluice --help</code>
      </span>
    </footer>
  )
}
