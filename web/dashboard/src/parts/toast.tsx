import { asApiError } from '../api/call.ts'
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import './toast.css'

interface Toast {
  readonly id: number
  readonly text: string
  readonly undo?: () => void
}

const SHOWN_MS = 8000
const MOST = 3
const toasts = signal<readonly Toast[]>([])
let count = 0

/** Says what was done. `undo` takes it back. */
export function toast(text: string, undo?: () => void): void {
  const id = (count += 1)
  toasts.value = [...toasts.value.slice(1 - MOST), { id, text, ...(undo ? { undo } : {}) }]
}

/** Awaits a change that stands in no form. A toast says why it was refused. */
export async function orToast(change: Promise<unknown>): Promise<void> {
  try {
    await change
  } catch (error) {
    toast(asApiError(error).message)
  }
}

/**
 * Takes back on Ctrl Z, or Command Z on a Mac, what the newest toast with an offer has said: its button may be many stops away. In
 * fields the browser takes back.
 */
export function listenForUndo(): void {
  addEventListener('keydown', (event) => {
    const { target, ctrlKey, metaKey, shiftKey, key } = event
    if (key.toLowerCase() !== 'z' || shiftKey || !(ctrlKey || metaKey)) return
    if (target instanceof Element && target.closest('input, textarea, select')) return
    const newest = toasts.value.findLast(({ undo }) => undo !== undefined)
    if (newest === undefined) return
    event.preventDefault()
    takeBack(newest)
  })
}

function takeBack({ id, undo }: Toast): void {
  undo?.()
  remove(id)
}

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

function ToastLine(shown: Toast) {
  const { id, text, undo } = shown
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return undefined
    const timer = setTimeout(() => remove(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isHeld])
  const [hold, leave] = [() => setHeld(true), () => setHeld(false)]
  return (
    <div class="toast" onPointerEnter={hold} onPointerLeave={leave} onFocusIn={hold} onFocusOut={leave}>
      {text}
      {undo && (
        <button
          class="btn small"
          type="button"
          title="Ctrl Z"
          aria-keyshortcuts="Control+Z Meta+Z"
          onClick={() => takeBack(shown)}
        >
          {words.parts.undo}
        </button>
      )}
    </div>
  )
}

export function Toasts() {
  return (
    // Atomic, as a status is, it would be read as a whole: those before once more with each new one.
    <div class="toasts" role="status" aria-atomic="false">
      {toasts.value.map((one) => (
        <ToastLine key={one.id} {...one} />
      ))}
    </div>
  )
}
