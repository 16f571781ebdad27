import { useEffect, useRef, useState } from 'preact/hooks'

/** A form of something that others may change too. */
interface Draft<F> {
  /** What was saved last. */
  readonly before: F
  readonly form: F
  readonly setForm: (form: F) => void
  /** Shows what the server made of the form that was sent. What was typed meanwhile stays. */
  readonly onSaved: (sent: F, saved: F) => void
}

/** Begins with what is saved. When that changes, what the person has not touched changes with it. */
export function useDraft<F extends object>(saved: F): Draft<F> {
  const [form, setForm] = useState(saved)
  const before = useRef(saved)
  const rebase = (known: F, fresh: F): void => setForm((now) => rebased(now, known, fresh))
  useEffect(() => {
    rebase(before.current, saved)
    before.current = saved
  }, [JSON.stringify(saved)])
  return { before: before.current, form, setForm, onSaved: rebase }
}

/**
 * A form after another person has changed what it is of: what was not touched takes the fresh value, and lists have what either has
 * added. Countries that are allowed and countries that are denied do not mix.
 */
export function rebased<F extends object>(form: F & Mixing, before: F, fresh: F & Mixing): F {
  const mixes = form.countryRule === fresh.countryRule
  const fields = (Object.keys(form) as (keyof F)[]).map((field) => {
    const [mine, known, now] = [form[field], before[field], fresh[field]]
    if (isSame(mine, known)) return [field, now]
    const isList = Array.isArray(mine) && Array.isArray(known) && Array.isArray(now) && (mixes || field !== 'countries')
    return [field, isList ? mixed(mine, known, now) : mine]
  })
  return Object.fromEntries(fields) as F
}

interface Mixing {
  readonly countryRule?: string
}

/** The fresh list without what was removed from the known one, and with what was added to that. */
function mixed(mine: readonly unknown[], known: readonly unknown[], fresh: readonly unknown[]): readonly unknown[] {
  const isIn = (list: readonly unknown[]) => (one: unknown) => list.some((other) => isSame(one, other))
  const kept = fresh.filter((one) => isIn(mine)(one) || !isIn(known)(one))
  return [...kept, ...mine.filter((one) => !isIn(known)(one) && !isIn(kept)(one))]
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
