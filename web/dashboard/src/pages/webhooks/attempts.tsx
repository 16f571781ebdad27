import { RowButton } from '../../parts/button.tsx'
import { State } from '../../parts/state.tsx'
import { moment, Time } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import { DELIVERY_STATES, type DeliveryState } from './states.ts'
import './webhooks.css'

const text = words.webhooks

/** One time that an event was sent. */
interface Attempt {
  readonly id: string
  readonly at: string
  readonly state: DeliveryState
  readonly statusCode: number | undefined
  readonly note: string
}

interface AttemptsProps {
  readonly attempts: readonly Attempt[]
  readonly chosenId: string
  readonly onChoose: (id: string) => void
}

/** Every time that one event was sent, so far as the list is loaded; absent when it was sent once. */
export function Attempts({ attempts, chosenId, onChoose }: AttemptsProps) {
  if (attempts.length < 2) return null
  return (
    <div class="section">
      <h3>{text.attempts}</h3>
      <ul class="rows pick attempts">
        {attempts.map(({ id, at, state, statusCode, note }) => (
          <li key={id} class={id === chosenId ? 'now' : ''} aria-current={id === chosenId ? 'true' : undefined}>
            <State kind={DELIVERY_STATES[state]}>{statusCode ?? text.states[state]}</State>
            <div class="grow">
              <RowButton of={moment(at)} onClick={() => onChoose(id)}>
                {note}
              </RowButton>
            </div>
            <Time at={at} />
          </li>
        ))}
      </ul>
    </div>
  )
}
