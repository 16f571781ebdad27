import type { ComponentChildren, TargetedClipboardEvent, TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/call.ts'
import { words } from '../words/words.ts'
import { ignore } from './button.tsx'
import { Icon } from './icon.tsx'
import { focusField, useWrong } from './wrong.ts'
import './form.css'

const text = words.parts

interface FieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  /** What is wrong with the value that the field has now. The form is not sent. */
  readonly problem?: string | null | undefined
  /** What the server said of the value that was sent. It is over when the value changes. */
  readonly error?: string | undefined
  /** Asks for a value where one is required and missing. */
  readonly missing?: string | undefined
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

/** A label, a control, and below it a hint and what is wrong. */
export function Field(props: FieldProps) {
  const { label, hint, isOptional = false, children } = props
  const id = useId()
  const { wrong, events } = useWrong(id, props)
  const described = [hint ? `${id}-h` : '', wrong ? `${id}-e` : ''].filter(Boolean).join(' ')
  return (
    <div class="field" {...events}>
      <label for={id}>
        {label} {isOptional && <span class="opt">{text.optional}</span>}
      </label>
      {children({ id, 'aria-invalid': wrong ? 'true' : undefined, 'aria-describedby': described || undefined })}
      {hint && (
        <span class="hint" id={`${id}-h`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span class="err" id={`${id}-e`}>
          <Icon name="warning" isSmall />
          {wrong}
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
  readonly autofocus?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: string
  readonly max?: string
}

/** In more digits `Date` reads no year. */
const LAST: Readonly<Record<string, string>> = { date: '9999-12-31', 'datetime-local': '9999-12-31T23:59' }

/** A field with one line of text. What is too long stays as it is, and the page says so: a browser would cut it without a word. */
export function TextField(props: InputProps) {
  const { label, hint, problem, error, missing, isOptional, value, onValue, type = 'text', maxLength, ...rest } = props
  const most = maxLength ?? Number.POSITIVE_INFINITY
  const wrong = problem ?? (Array.from(value).length > most ? words.problems.tooLong(most) : undefined)
  return (
    <Field label={label} hint={hint} problem={wrong} error={error} missing={missing} isOptional={isOptional}>
      {(attributes) => (
        <input
          class="input"
          max={LAST[type]}
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

interface NumberProps extends Omit<FieldProps, 'children'> {
  readonly unit: string
  readonly value: string
  readonly onValue: (value: string) => void
}

/** A field with a number and its unit. */
export function NumberField({ unit, value, onValue, ...field }: NumberProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <div class="with-unit">
          <input
            class="input num"
            inputMode="numeric"
            {...attributes}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
          <span>{unit}</span>
        </div>
      )}
    </Field>
  )
}

interface SelectProps<T extends string> extends Omit<FieldProps, 'children'> {
  readonly value: T
  readonly choices: readonly (readonly [value: T, text: string])[]
  readonly isDisabled?: boolean
  readonly onValue: (value: T) => void
}

/** A field with one of several choices, which open as a list. */
export function SelectField<T extends string>({ value, choices, isDisabled, onValue, ...field }: SelectProps<T>) {
  return (
    <Field {...field}>
      {(attributes) => (
        <select
          class="select"
          {...attributes}
          value={value}
          disabled={isDisabled}
          onChange={({ currentTarget }) => onValue(currentTarget.value as T)}
        >
          {choices.map(([choice, shown]) => (
            <option key={choice} value={choice}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** Each line that is pasted becomes an entry of a list: a browser would make one of them all. */
function pasteLines(event: TargetedClipboardEvent<HTMLInputElement>): void {
  const pasted = event.clipboardData?.getData('text').trim() ?? ''
  if (!/[\r\n]/.test(pasted)) return
  event.preventDefault()
  const { currentTarget: field } = event
  field.setRangeText(pasted.replaceAll(/[\r\n]+/g, ','), field.selectionStart ?? 0, field.selectionEnd ?? 0, 'end')
  field.dispatchEvent(new InputEvent('input', { bubbles: true }))
}

interface ChipsProps<T> {
  readonly attributes: ControlAttributes
  readonly values: readonly T[]
  readonly nameOf: (value: T) => string
  readonly isWrong: (value: T) => boolean
  /** Stands behind the name. */
  readonly mark?: (value: T) => ComponentChildren
  /** The entries of a text that the list does not have yet. */
  readonly read: (written: string) => readonly T[]
  /** Whether a text that is being typed is whole; Enter and leaving the field end it too. */
  readonly isWhole: (written: string) => boolean
  readonly onValues: (values: readonly T[]) => void
  readonly placeholder?: string | undefined
  readonly required?: boolean
}

/** Entries, each with a button that removes it, and a field for the next ones. */
export function Chips<T>({
  attributes,
  values,
  nameOf,
  isWrong,
  mark,
  read,
  isWhole,
  onValues,
  ...input
}: ChipsProps<T>) {
  const [typed, setTyped] = useState('')
  const take = (written: string): void => {
    const fresh = read(written)
    if (fresh.length > 0) onValues([...values, ...fresh])
    setTyped('')
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Enter' && typed.trim() !== '') {
      event.preventDefault()
      take(typed)
    } else if (event.key === 'Backspace' && typed === '' && values.length > 0) onValues(values.slice(0, -1))
  }
  return (
    <div class="chips">
      {values.map((value) => (
        <span key={JSON.stringify(value)} class={isWrong(value) ? 'bad' : ''}>
          {nameOf(value)}
          {mark?.(value)}
          <button
            type="button"
            aria-label={text.remove(nameOf(value))}
            onClick={() => onValues(values.filter((one) => one !== value))}
          >
            <Icon name="close" isSmall />
          </button>
        </span>
      ))}
      <input
        {...attributes}
        {...input}
        value={typed}
        onKeyDown={onKeyDown}
        onPaste={pasteLines}
        onBlur={() => take(typed)}
        onInput={({ currentTarget: { value } }) => (isWhole(value) ? take(value) : setTyped(value))}
      />
    </div>
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
  const { values, onValues, check = () => null, placeholder, ...field } = props
  const read = (written: string): string[] =>
    [...new Set(written.split(/[\s,]+/))].filter((part) => part !== '' && !values.includes(part))
  return (
    <Field {...field} problem={values.map(check).find((problem) => problem !== null)}>
      {(attributes) => (
        <Chips
          attributes={attributes}
          values={values}
          nameOf={(value) => value}
          isWrong={(value) => check(value) !== null}
          read={read}
          isWhole={(written) => /[,\s]/.test(written)}
          onValues={onValues}
          placeholder={values.length === 0 ? placeholder : undefined}
        />
      )}
    </Field>
  )
}

/** A switch or a checkbox with a sentence under it. */
export function Toggle(props: {
  readonly label: ComponentChildren
  /** What it switches, as of a `Button`. */
  readonly of?: string | undefined
  readonly note?: ComponentChildren
  readonly isOn: boolean
  readonly isDisabled?: boolean
  readonly looks?: 'switch' | 'check'
  /** What was chosen is shown until a promise that this returns is settled. It may not be rejected. */
  readonly onChange: (isOn: boolean) => void | Promise<void>
}) {
  const { label, of, note, isOn, isDisabled = false, looks = 'switch', onChange } = props
  const [chosen, setChosen] = useState<boolean | null>(null)
  const change = (next: boolean): void => {
    const action = onChange(next)
    if (!(action instanceof Promise)) return
    setChosen(next)
    void action.finally(() => setChosen(null))
  }
  return (
    <label class={looks === 'switch' ? 'check switch' : 'check'}>
      <input
        type="checkbox"
        {...(looks === 'switch' ? { role: 'switch' as const } : {})}
        checked={chosen ?? isOn}
        disabled={isDisabled}
        aria-busy={chosen === null ? undefined : 'true'}
        onClick={chosen === null ? undefined : ignore}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <b>
        {label}
        {of && <span class="sr"> {of}</span>}
      </b>
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

/**
 * The state of a form that is sent: its refusal by field, and whether it is under way. After a refusal the focus is in
 * the first field that is wrong; a refusal of the whole is in view.
 */
export function useSubmit(send: () => Promise<void>): {
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly fields: Readonly<Record<string, string>>
  readonly onSubmit: (event?: Event) => void
} {
  const [state, setState] = useState<{ isBusy: boolean; error: ApiError | null }>({ isBusy: false, error: null })
  const form = useRef<HTMLFormElement | null>(null)
  useEffect(() => {
    if (!state.error) return
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid]')
    if (field) focusField(field)
    // The form may be longer than the window.
    else form.current?.querySelector('[role=alert]')?.scrollIntoView({ block: 'center' })
  }, [state.error])
  const onSubmit = (event?: Event): void => {
    event?.preventDefault()
    if (state.isBusy) return
    form.current = event?.target instanceof HTMLFormElement ? event.target : null
    setState({ isBusy: true, error: null })
    send().then(
      () => setState({ isBusy: false, error: null }),
      (error: unknown) => setState({ isBusy: false, error: asApiError(error) }),
    )
  }
  return { ...state, fields: state.error?.fields ?? {}, onSubmit }
}
