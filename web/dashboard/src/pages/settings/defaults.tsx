import { useState } from 'preact/hooks'
import { readMediaExpiration, updateMediaExpiration } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Field } from '../../parts/form.tsx'
import { words } from '../../words/words.ts'
import { checkWhole } from '../tokens/checks.ts'
import { DefaultsCard, SaveForm } from './defaultsCard.tsx'
import { SettingsFrame } from './tabs.tsx'

const text = words.defaults
const DAYS_MOST = 365

/** What the account says for its tokens and recordings. */
export const DefaultsPage = () => (
  <SettingsFrame path="/settings/defaults">
    <div class="cols half">
      <RecordingsCard />
    </div>
  </SettingsFrame>
)

const RecordingsCard = () => (
  <DefaultsCard
    title={words.frame.recordings}
    about={text.recordingsText}
    read={async (signal) => daysOf(await call(readMediaExpiration, {}, { signal }))}
    write={async (days) =>
      daysOf(await call(updateMediaExpiration, { body: { recordings: days === null ? null : { days } } }))
    }
    sentence={text.keptFor}
    form={(days, save) => <DaysForm days={days} onSave={save} />}
  />
)

/** Null: recordings stay. */
const daysOf = ({ recordings }: { readonly recordings: { readonly days: number } | null }): number | null =>
  recordings?.days ?? null

interface DaysFormProps {
  readonly days: number | null
  readonly onSave: (days: number | null) => Promise<void>
}

function DaysForm({ days, onSave }: DaysFormProps) {
  const [typed, setTyped] = useState(String(days ?? ''))
  const problem = checkWhole(typed, 1, DAYS_MOST)
  return (
    <SaveForm isWrong={problem !== null} onSave={() => onSave(typed.trim() === '' ? null : Number(typed))}>
      {(errors) => (
        <Field label={text.days} hint={text.daysHint} problem={problem} error={errors['recordings.days']} isOptional>
          {(attributes) => (
            <div class="with-unit">
              <input
                class="input num"
                inputMode="numeric"
                {...attributes}
                value={typed}
                onInput={({ currentTarget }) => setTyped(currentTarget.value)}
              />
              <span>{words.tokens.form.recordingDaysUnit}</span>
            </div>
          )}
        </Field>
      )}
    </SaveForm>
  )
}
