import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'

const text = words.problems

interface Said {
  readonly problem?: string | null | undefined
  readonly error?: string | undefined
  readonly missing?: string | undefined
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/**
 * What a field says is wrong: its value as it is now, else what the browser found when the form was sent, else what the
 * server said. The browser sends no form with a problem, so it is the one that checks; only the words are ours.
 */
export function useWrong(id: string, { problem, error, missing }: Said) {
  /** What the browser found when the form was sent. */
  const [found, setFound] = useState<string>()
  /** The value has changed since the server spoke of it. Its words may name the entry that is in the place of the wrong one. */
  const [isOver, setOver] = useState(false)
  if (error === undefined && isOver) setOver(false)
  useEffect(() => {
    const control = document.getElementById(id)
    if (isControl(control)) control.setCustomValidity(problem ?? '')
  }, [id, problem])
  const clear = (): void => {
    // State, because the page may have drawn the new value before this listener is called.
    setOver(error !== undefined)
    setFound(undefined)
  }
  const events = {
    onInput: clear,
    // A button of a field removes something from its value.
    onClick: ({ target }: Event) => {
      if (target instanceof Element && target.closest('button')) clear()
    },
    onInvalidCapture: (event: Event) => {
      event.preventDefault()
      if (!isControl(event.target)) return
      setFound(whyInvalid(event.target, missing))
      if (event.target === firstInvalid(event.target.form)) focusField(event.target)
    },
  }
  const wrong = problem ?? found ?? (isOver ? undefined : error)
  // The entry of a list that it names may be very long.
  return { wrong: wrong?.replaceAll(/(\S{60})\S{20,}/g, '$1…'), events }
}

const isControl = (target: unknown): target is Control =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement

const firstInvalid = (form: HTMLFormElement | null): Element | null | undefined =>
  form?.querySelector('input:invalid, select:invalid, textarea:invalid')

function whyInvalid(control: Control, missing: string | undefined): string {
  const { valueMissing, typeMismatch, tooShort } = control.validity
  if (valueMissing) return missing ?? text.missing
  if (typeMismatch) return control.type === 'email' ? text.email : text.url
  if (tooShort && control instanceof HTMLInputElement) return text.tooShort(control.minLength)
  return control.validationMessage
}

/** Puts the focus into a field, also into one that is folded away. */
export function focusField(control: HTMLElement | null | undefined): void {
  for (let around = control?.closest('details'); around; around = around.parentElement?.closest('details'))
    around.open = true
  control?.focus()
}
