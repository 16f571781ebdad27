import { Shape } from '../../parts/state.tsx'
import { stepWords } from '../../words/traceWords.ts'
import { words } from '../../words/words.ts'
import { CHECKS } from './checks.ts'
import './access.css'

const text = words.access

export interface Step {
  readonly check: string
  readonly outcome: 'pass' | 'fail' | 'skip'
  readonly detail: string
}

const nameOf = (check: string): string => text.checks[check] ?? check

/** Yes or no, in a sentence. */
export function Verdict(props: { readonly isAllowed: boolean; readonly code: string; readonly detail: string }) {
  const { isAllowed, code, detail } = props
  return (
    <div class={isAllowed ? 'verdict yes' : 'verdict'} role="status">
      <Shape kind={isAllowed ? 'ok' : 'error'} />
      <div>
        <b>{isAllowed ? text.yes : text.no(text.codes[code] ?? code)}</b>
        <p>{stepWords(detail)}</p>
      </div>
    </div>
  )
}

/** Every check of a decision, and which were not reached. */
export function Trace({ steps }: { readonly steps: readonly Step[] }) {
  const last = CHECKS.indexOf(steps.find(({ outcome }) => outcome === 'fail')?.check ?? '')
  const left = last === -1 ? [] : CHECKS.slice(last + 1)
  return (
    <ol class="trace">
      {steps.map(({ check, outcome, detail }) => (
        <li key={check} class={outcome === 'fail' ? 'stop' : outcome === 'skip' ? 'skipped' : ''}>
          {outcome === 'skip' ? <Dash /> : <Shape kind={outcome === 'pass' ? 'ok' : 'error'} />}
          <div>
            <b>{nameOf(check)}</b>
            <p>{stepWords(detail)}</p>
          </div>
        </li>
      ))}
      {left.length > 0 && (
        <li class="skipped">
          <Dash />
          <div>
            <b>{left.map(nameOf).join(', ')}</b>
            <p>{text.notAsked}</p>
          </div>
        </li>
      )}
    </ol>
  )
}

const Dash = () => (
  <svg class="t-idle" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M3.5 8h9" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" />
  </svg>
)
