import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

const text = words.parts

interface FieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  /** What is wrong, as the server or the page says it. */
  readonly error?: string | undefined
  readonly isOptional?: boolean
  /** Draws the control with these attributes. */
  readonly children: (attributes: ControlAttributes) => ComponentChildren
}

/** What ties a control to its label, its hint and its error. */
export interface ControlAttributes {
  readonly id: string
  readonly 'aria-invalid': 'true' | undefined
  readonly 'aria-describedby': string | undefined
}

/** A label, a control, and below it a hint and the error of this field. */
export function Field({ label, hint, error, isOptional = false, children }: FieldProps) {
  const id = useId()
  const described = [hint ? `${id}-h` : '', error ? `${id}-e` : ''].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>
        {label} {isOptional && <span class="opt">{text.optional}</span>}
      </label>
      {children({ id, 'aria-invalid': error ? 'true' : undefined, 'aria-describedby': described || undefined })}
      {hint && (
        <span class="hint" id={`${id}-h`}>
          {hint}
        </span>
      )}
      {error && (
        <span class="err" id={`${id}-e`}>
          <Icon name="warning" isSmall />
          {error}
        </span>
      )}
    </div>
  )
}

interface InputProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'url' | 'date' | 'datetime-local' | 'time'
  readonly autocomplete?: string
  readonly inputMode?: 'numeric' | 'decimal' | 'text'
  readonly placeholder?: string
  readonly required?: boolean
  readonly disabled?: boolean
  readonly maxLength?: number
  readonly min?: string
  readonly max?: string
}

/** A field with one line of text. */
export function TextField({ label, hint, error, isOptional, value, onValue, type = 'text', ...rest }: InputProps) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(attributes) => (
        <input
          class="input"
          {...rest}
          {...attributes}
          // The types of Preact tie roles to each type of input; a field has the role of its type.
          {...({ type } as { type: 'text' })}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** A list of short texts, entered one by one or comma-delimited. `check` says at once what is wrong with one. */
export function ChipsField(props: {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly isOptional?: boolean
  readonly placeholder?: string
  readonly values: readonly string[]
  readonly onValues: (values: readonly string[]) => void
  readonly check?: (value: string) => string | null
}) {
  const { values, onValues, check = () => null, placeholder } = props
  const [typed, setTyped] = useState('')
  const wrong = values.map(check).find((problem) => problem !== null) ?? undefined
  const error = props.error ?? wrong
  const take = (written: string): void => {
    const parts = written.split(/[\s,]+/).filter((part) => part !== '' && !values.includes(part))
    if (parts.length > 0) onValues([...values, ...new Set(parts)])
    setTyped('')
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Enter' && typed.trim() !== '') {
      event.preventDefault()
      take(typed)
    } else if (event.key === 'Backspace' && typed === '' && values.length > 0) onValues(values.slice(0, -1))
  }
  return (
    <Field label={props.label} hint={props.hint} error={error} isOptional={props.isOptional ?? false}>
      {(attributes) => (
        <div class="chips">
          {values.map((value) => (
            <span key={value} class={check(value) === null ? '' : 'bad'}>
              {value}
              <button
                type="button"
                aria-label={text.remove(value)}
                onClick={() => onValues(values.filter((one) => one !== value))}
              >
                <Icon name="close" isSmall />
              </button>
            </span>
          ))}
          <input
            {...attributes}
            {...(placeholder && values.length === 0 ? { placeholder } : {})}
            value={typed}
            onKeyDown={onKeyDown}
            onBlur={() => take(typed)}
            onInput={({ currentTarget: { value } }) => (/[,\s]/.test(value) ? take(value) : setTyped(value))}
          />
        </div>
      )}
    </Field>
  )
}

/** A switch or a checkbox with a sentence under it. */
export function Toggle(props: {
  readonly label: ComponentChildren
  readonly note?: ComponentChildren
  readonly isOn: boolean
  readonly isDisabled?: boolean
  readonly looks?: 'switch' | 'check'
  readonly onChange: (isOn: boolean) => void
}) {
  const { label, note, isOn, isDisabled = false, looks = 'switch', onChange } = props
  return (
    <label class={looks === 'switch' ? 'check switch' : 'check'}>
      <input
        type="checkbox"
        {...(looks === 'switch' ? { role: 'switch' as const } : {})}
        checked={isOn}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <b>{label}</b>
      {note && <small>{note}</small>}
    </label>
  )
}

/** One of a few choices, side by side. */
export function Segment<T extends string>(props: {
  readonly label: string
  readonly choices: readonly (readonly [value: T, text: ComponentChildren])[]
  readonly value: T
  readonly isWide?: boolean
  readonly onChange: (value: T) => void
}) {
  const name = useId()
  return (
    <div class={props.isWide ? 'seg wide' : 'seg'} role="radiogroup" aria-label={props.label}>
      {props.choices.map(([value, shown]) => (
        <label key={value}>
          <input type="radio" name={name} checked={value === props.value} onChange={() => props.onChange(value)} />
          {shown}
        </label>
      ))}
    </div>
  )
}

/** The state of a form that is sent: its refusal by field, and whether it is under way. */
export function useSubmit(send: () => Promise<void>): {
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly fields: Readonly<Record<string, string>>
  readonly onSubmit: (event?: Event) => void
} {
  const [state, setState] = useState<{ isBusy: boolean; error: ApiError | null }>({ isBusy: false, error: null })
  const onSubmit = (event?: Event): void => {
    event?.preventDefault()
    if (state.isBusy) return
    setState({ isBusy: true, error: null })
    send().then(
      () => setState({ isBusy: false, error: null }),
      (error: unknown) =>
        setState({ isBusy: false, error: error instanceof ApiError ? error : new ApiError(0, String(error)) }),
    )
  }
  return { ...state, fields: state.error?.fields ?? {}, onSubmit }
}
